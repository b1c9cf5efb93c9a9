//! A component that knows nothing of its host: functions of every type, in interfaces and beside
//! them.

use abi::exports::test::shop::catalogue::{Colour, Extras, Guest as Catalogue, Item, Payment, Receipt};
use abi::exports::test::shop::warehouse::{Guest as Warehouse, GuestShelf};
use abi::{Guest, wasi};

/// What wit-bindgen makes.
#[allow(unsafe_code, unreachable_pub, clippy::all)]
mod abi {
    wit_bindgen::generate!({ world: "shop", path: "wit", generate_all });

    export!(Shop);

    use super::Shop;
}

struct Shop;

struct Shelf;

impl Guest for Shop {
    fn greet(name: String) -> String {
        format!("Hello, {name}!")
    }

    fn pause() {}

    fn divide(a: f64, b: f64) -> f64 {
        a / b
    }

    fn crash() {
        panic!("as it was told to");
    }

    fn setting(name: String) -> Result<Option<String>, String> {
        wasi::config::store::get(&name).map_err(|error| format!("{error:?}"))
    }
}

impl Catalogue for Shop {
    fn sell(items: Vec<Item>, paid: Payment, extras: Extras) -> Result<Receipt, String> {
        if items.is_empty() {
            return Err("there is nothing to sell".into());
        }
        let total = items.iter().map(|item| item.price).fold(0, u64::saturating_add);
        Ok(Receipt { items, total, paid, extras })
    }

    fn numbers(
        a: i8,
        b: u8,
        c: i16,
        d: u16,
        e: i32,
        f: u32,
        g: i64,
        h: u64,
        i: f32,
        j: f64,
    ) -> (i8, u8, i16, u16, i32, u32, i64, u64, f32, f64) {
        (a, b, c, d, e, f, g, h, i, j)
    }

    fn turn(mut picture: Vec<u8>) -> Vec<u8> {
        picture.reverse();
        picture
    }

    fn nested(it: Option<Option<bool>>) -> Result<Option<Option<bool>>, char> {
        Ok(it)
    }

    fn find(name: Option<String>) -> Option<Item> {
        name.map(|name| Item { name, price: u64::MAX, colour: Some(Colour::DarkBlue), tags: Vec::new() })
    }
}

impl Warehouse for Shop {
    type Shelf = Shelf;

    fn find(name: String) -> bool {
        name == "lamp"
    }
}

impl GuestShelf for Shelf {
    fn new() -> Self {
        Self
    }

    fn put(&self, _: String) {}
}
