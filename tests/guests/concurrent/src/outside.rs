//! Files and requests.

use crate::Concurrent;
use crate::abi::exports::test::concurrent::outside::Guest;
use crate::abi::wasi::filesystem::preopens::get_directories;
use crate::abi::wasi::filesystem::types::{Descriptor, DescriptorFlags, ErrorCode, NewTimestamp, OpenFlags, PathFlags};
use crate::abi::wasi::http::client::send;
use crate::abi::wasi::http::types::{Fields, Method, Request, Response, Scheme};
use crate::abi::{wit_future, wit_stream};

fn failed(code: ErrorCode) -> String {
    format!("{code:?}")
}

/// The granted folder of a path such as `/notes/a/b`, and what follows it.
fn folder(path: &str) -> Result<(Descriptor, String), String> {
    let below = |name: &str| path.strip_prefix(name).map(|rest| rest.trim_start_matches('/').to_owned());
    let found = get_directories().into_iter().find_map(|(folder, name)| Some((folder, below(&name)?)));
    found.ok_or_else(|| "no folder is granted".into())
}

async fn open(path: &str, how: OpenFlags, flags: DescriptorFlags) -> Result<Descriptor, String> {
    let (folder, path) = folder(path)?;
    folder.open_at(PathFlags::SYMLINK_FOLLOW, path, how, flags).await.map_err(failed)
}

impl Guest for Concurrent {
    async fn read(path: String) -> Result<String, String> {
        let file = open(&path, OpenFlags::empty(), DescriptorFlags::READ).await?;
        let (bytes, end) = file.read_via_stream(0);
        let bytes = bytes.collect().await;
        end.await.map_err(failed)?;
        String::from_utf8(bytes).map_err(|error| error.to_string())
    }

    async fn write(path: String, text: String) -> Result<u64, String> {
        let file = open(&path, OpenFlags::CREATE | OpenFlags::TRUNCATE, DescriptorFlags::WRITE).await?;
        let (mut writer, reader) = wit_stream::new();
        let end = file.write_via_stream(reader, 0);
        writer.write_all(text.into_bytes()).await;
        drop(writer);
        end.await.map_err(failed)?;
        Ok(file.stat().await.map_err(failed)?.size)
    }

    async fn append(path: String, text: String) -> Result<(), String> {
        let file = open(&path, OpenFlags::empty(), DescriptorFlags::WRITE).await?;
        let (mut writer, reader) = wit_stream::new();
        let end = file.append_via_stream(reader);
        writer.write_all(text.into_bytes()).await;
        drop(writer);
        end.await.map_err(failed)
    }

    async fn entries(path: String) -> Result<Vec<String>, String> {
        let folder = open(&(path + "/."), OpenFlags::DIRECTORY, DescriptorFlags::READ).await?;
        let (entries, end) = folder.read_directory();
        let entries = entries.collect().await;
        end.await.map_err(failed)?;
        Ok(entries.into_iter().map(|entry| entry.name).collect())
    }

    async fn change(what: String, path: String, to: String) -> Result<(), String> {
        let (from, old) = folder(&path)?;
        let done = match &*what {
            "make" => from.create_directory_at(old).await,
            "unmake" => from.remove_directory_at(old).await,
            "remove" => from.unlink_file_at(old).await,
            "times" => from.set_times_at(PathFlags::empty(), old, NewTimestamp::Now, NewTimestamp::Now).await,
            "symlink" => from.symlink_at(to, old).await,
            "size" => {
                let file = open(&path, OpenFlags::empty(), DescriptorFlags::WRITE).await?;
                file.set_size(to.parse().map_err(|_| "no size")?).await
            }
            _ => {
                let (folder, new) = folder(&to)?;
                match &*what {
                    "link" => from.link_at(PathFlags::empty(), old, &folder, new).await,
                    _ => from.rename_at(old, &folder, new).await,
                }
            }
        };
        done.map_err(failed)
    }

    async fn requests(count: u32, size: u32) -> u32 {
        let made: Vec<Request> = (0..count)
            .map(|_| {
                let (_, none) = wit_future::new(|| Ok(None));
                let (request, _) = Request::new(Fields::new(), None, none, None);
                request.set_method(&Method::Other("M".repeat(size as usize))).expect("a valid method");
                request
            })
            .collect();
        made.len() as u32
    }

    async fn fetch(authority: String, path: String, body: String) -> Result<(u16, String), String> {
        let (mut writer, contents) = wit_stream::new();
        let (trailers, none) = wit_future::new(|| Ok(None));
        let (request, _sent) = Request::new(Fields::new(), Some(contents), none, None);
        let invalid = |()| "an invalid request".to_owned();
        request.set_method(&if body.is_empty() { Method::Get } else { Method::Post }).map_err(invalid)?;
        request.set_scheme(Some(&Scheme::Http)).map_err(invalid)?;
        request.set_authority(Some(&authority)).map_err(invalid)?;
        request.set_path_with_query(Some(&path)).map_err(invalid)?;
        wit_bindgen::spawn_local(async move {
            writer.write_all(body.into_bytes()).await;
            drop(writer);
            let _ = trailers.write(Ok(None)).await;
        });
        let response = send(request).await.map_err(|error| format!("{error:?}"))?;
        let status = response.get_status_code();
        let (_, ended) = wit_future::new(|| Ok(()));
        let (bytes, _) = Response::consume_body(response, ended);
        let bytes = bytes.collect().await;
        Ok((status, String::from_utf8_lossy(&bytes).into_owned()))
    }
}
