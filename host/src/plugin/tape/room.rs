//! Bytes of what is recorded and not written yet, for all calls together.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Room that tapes share.
#[derive(Clone)]
pub(super) struct Room(Arc<AtomicUsize>);

/// What one tape has taken of it.
pub(super) struct Share {
    room: Option<Room>,
    taken: usize,
    left: usize,
}

impl Room {
    pub(super) fn of(bytes: usize) -> Self {
        Self(Arc::new(AtomicUsize::new(bytes)))
    }
}

impl Share {
    /// At most so many bytes of a room; `None`: nothing else has a part of it.
    pub(super) fn of(room: Option<Room>, most: usize) -> Self {
        Self { room, taken: 0, left: most }
    }

    /// Takes bytes; false if there are not as many.
    pub(super) fn take(&mut self, bytes: usize) -> bool {
        let Some(left) = self.left.checked_sub(bytes) else { return false };
        if let Some(Room(room)) = &self.room
            && room.try_update(Ordering::Relaxed, Ordering::Relaxed, |free| free.checked_sub(bytes)).is_err()
        {
            return false;
        }
        self.taken += bytes;
        self.left = left;
        true
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        if let Some(Room(room)) = &self.room {
            room.fetch_add(self.taken, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_one_tape_has_the_others_have_not() {
        let room = Room::of(10);
        let mut one = Share::of(Some(room.clone()), 8);
        let mut other = Share::of(Some(room.clone()), 8);
        assert!(one.take(8) && !one.take(1), "its own limit");
        assert!(other.take(2) && !other.take(1), "the limit of all");
        drop(one);
        assert!(other.take(6) && !other.take(1));
        drop(other);
        assert_eq!(room.0.load(Ordering::Relaxed), 10);
    }
}
