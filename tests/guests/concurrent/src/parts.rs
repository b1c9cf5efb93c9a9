//! Results and arguments that are streams and futures.

use wit_bindgen::rt::async_support::{FutureReader, StreamReader, StreamResult};

use crate::abi::exports::test::concurrent::parts::{Guest, Summary};
use crate::abi::{wit_future, wit_stream};
use crate::{Concurrent, pause};

/// Items of one write.
const CHUNK: usize = 1 << 16;

impl Guest for Concurrent {
    async fn count(to: u32, milliseconds: u32) -> StreamReader<u32> {
        let (mut numbers, reader) = wit_stream::new();
        wit_bindgen::spawn_local(async move {
            for number in 1..=to {
                pause(milliseconds).await;
                numbers.write_all(vec![number]).await;
            }
        });
        reader
    }

    async fn bytes(size: u32) -> StreamReader<u8> {
        let (mut bytes, reader) = wit_stream::new();
        wit_bindgen::spawn_local(async move {
            let mut left = size as usize;
            while left > 0 {
                let part = left.min(CHUNK);
                if !bytes.write_all(vec![b'x'; part]).await.is_empty() {
                    return;
                }
                left -= part;
            }
        });
        reader
    }

    async fn later(text: String) -> FutureReader<String> {
        let (writer, reader) = wit_future::new(String::new);
        wit_bindgen::spawn_local(async move {
            pause(1).await;
            // The host may not want it.
            let _ = writer.write(text).await;
        });
        reader
    }

    async fn blobs(count: u32, size: u32) -> StreamReader<Vec<u8>> {
        let (mut blobs, reader) = wit_stream::new();
        wit_bindgen::spawn_local(async move {
            blobs.write_all(vec![vec![b'x'; size as usize]; count as usize]).await;
        });
        reader
    }

    fn orphan() -> StreamReader<u32> {
        let (mut numbers, reader) = wit_stream::new();
        wit_bindgen::spawn_local(async move {
            numbers.write_all(vec![1]).await;
        });
        reader
    }

    async fn summarise(title: String, text: String) -> Summary {
        let (mut found, words) = wit_stream::new();
        let (counted, total) = wit_future::new(|| 0);
        wit_bindgen::spawn_local(async move {
            let mut count = 0;
            for word in text.split_whitespace() {
                found.write_all(vec![word.to_owned()]).await;
                count += 1;
            }
            drop(found);
            let _ = counted.write(count).await;
        });
        Summary { title, words, total }
    }

    async fn maybe(numbers: Option<u32>) -> Result<StreamReader<u32>, String> {
        match numbers {
            Some(to) => Ok(Self::count(to, 0).await),
            None => Err("there are none".into()),
        }
    }

    async fn sum(mut numbers: StreamReader<u64>) -> u64 {
        let mut sum = 0;
        while let Some(number) = numbers.next().await {
            sum += number;
        }
        sum
    }

    async fn shout(mut text: StreamReader<String>, mark: FutureReader<String>) -> StreamReader<String> {
        let (mut loud, reader) = wit_stream::new();
        wit_bindgen::spawn_local(async move {
            let mark = mark.await;
            while let Some(line) = text.next().await {
                loud.write_all(vec![line.to_uppercase() + &mark]).await;
            }
        });
        reader
    }

    async fn weigh(mut data: StreamReader<u8>) -> u64 {
        let mut size = 0;
        loop {
            let (result, read) = data.read(Vec::with_capacity(CHUNK)).await;
            size += read.len() as u64;
            if let StreamResult::Dropped = result {
                return size;
            }
        }
    }

    async fn endless() -> StreamReader<u64> {
        let (mut numbers, reader) = wit_stream::new();
        wit_bindgen::spawn_local(async move {
            for number in 0.. {
                if !numbers.write_all(vec![number; 512]).await.is_empty() {
                    return;
                }
            }
        });
        reader
    }

    async fn silent() -> StreamReader<u64> {
        let (numbers, reader) = wit_stream::new();
        wit_bindgen::spawn_local(async move {
            pause(u32::MAX).await;
            drop(numbers);
        });
        reader
    }
}
