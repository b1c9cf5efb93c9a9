//! Servers of this machine's packages, on free ports in temporary folders. They are stopped when dropped.

pub(crate) mod disk;
pub(crate) mod nats;
pub(crate) mod postgres;

use std::fs;
use std::net::TcpListener;
use std::path::Path;

use disk::Disk;

pub(crate) const PASSWORD: &str = "hunter2";
pub(crate) const USER: &str = "wharf";

/// What all of them can.
pub(crate) trait Server {
    fn start() -> Self
    where
        Self: Sized;

    /// The URL of a new and empty store, without a password.
    fn store(&self, name: &str) -> String;

    /// Ends it as a power failure would, but for what the system has not written.
    fn kill(&mut self);

    fn start_again(&mut self);

    /// It does nothing any more, and closes nothing.
    fn freeze(&self);

    fn thaw(&self);
}

/// One whose data are on a small disk.
pub(crate) trait OnDisk: Server {
    /// The calls of the system by which it writes what it acknowledges.
    const WRITES: &str;
    /// Whether it reads while its disk is full, and writes when there is room again, by itself.
    const GOES_ON: bool;

    fn start_on_disk() -> Self;

    fn disk(&self) -> &Disk;

    fn processes(&self) -> Vec<u32>;
}

pub(crate) fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").and_then(|free| free.local_addr()).expect("a port").port()
}

/// Writes a certificate for `localhost` and this machine's address, and its key.
fn certify(folder: &Path) {
    let own = rcgen::generate_simple_self_signed(["localhost".to_owned()]).expect("a certificate");
    fs::write(folder.join("cert.pem"), own.cert.pem()).expect("a file");
    fs::write(folder.join("key.pem"), own.signing_key.serialize_pem()).expect("a file");
}
