//! A budget for characters whose presence is a choice, over the texts of one message.
//!
//! Some characters may be present or not, and the text looks much the same. Each such choice
//! can carry a few bits, so few of them are allowed, however many texts there are. To repeat the
//! last choice is free.

use std::collections::HashMap;

/// Choices in one message, or in one entry of a listing.
const CHOICES: u32 = 8;
/// Choices in all entries of a listing.
const LISTING: u32 = 32;
/// Punctuation marks that may first appear with an unusual space: more than French or German needs.
const USUAL: u32 = 12;
/// Emoji with two presentations that may first appear with a selector.
const LOOKS: u32 = 12;
/// Cost of a character that a script's spelling needs, in the units of [`Leeway::earn`].
const SPELLING: u32 = 32;

/// The cost class of the first use of one of several ways to write something.
pub(super) enum First {
    /// The difference is visible.
    Free,
    /// It is usual typography.
    Usual,
    /// It selects an emoji's presentation.
    Look,
    Costs(u32),
}

/// The remaining budget for the texts of one result, the messages of one call, or the entries of a
/// listing.
#[derive(Clone)]
pub(in crate::plugin) struct Leeway {
    choices: u32,
    /// Choices of the entries to come.
    later: u32,
    usual: u32,
    looks: u32,
    earned: u32,
    /// The last way in which each thing was written.
    ways: HashMap<(char, char), char>,
}

impl Default for Leeway {
    fn default() -> Self {
        Self { choices: CHOICES, later: 0, usual: USUAL, looks: LOOKS, earned: 0, ways: HashMap::new() }
    }
}

impl Leeway {
    /// Without any choices.
    pub(in crate::plugin::text) fn none() -> Self {
        Self { choices: 0, usual: 0, looks: 0, ..Self::default() }
    }

    /// For the entries of a listing.
    pub(in crate::plugin) fn of_listing() -> Self {
        Self { later: LISTING - CHOICES, ..Self::default() }
    }

    /// Starts the next entry of the listing. The rest of the previous entry's budget goes to all.
    pub(in crate::plugin) fn begin_entry(&mut self) {
        let all = self.later + self.choices;
        self.choices = all.min(CHOICES);
        self.later = all - self.choices;
    }

    pub(super) fn choose(&mut self, cost: u32) -> bool {
        let left = self.choices.checked_sub(cost);
        self.choices = left.unwrap_or(self.choices);
        left.is_some()
    }

    /// Adds the units of letters of a script that needs invisible characters.
    pub(super) fn earn(&mut self, units: u32) {
        self.earned = self.earned.saturating_add(units);
    }

    /// Pays for a character that a script's spelling needs.
    pub(super) fn spell(&mut self) -> bool {
        match self.earned.checked_sub(SPELLING) {
            Some(left) => {
                self.earned = left;
                true
            }
            None => self.choose(1),
        }
    }

    /// Pays for one way to write `what`.
    pub(super) fn write(&mut self, what: (char, char), way: char, first: &First) -> bool {
        let last = self.ways.get(&what);
        let passes = match first {
            _ if last == Some(&way) => return true,
            First::Free if last.is_none() => true,
            First::Usual if last.is_none() && self.usual > 0 => {
                self.usual -= 1;
                true
            }
            First::Look if last.is_none() && self.looks > 0 => {
                self.looks -= 1;
                true
            }
            First::Free | First::Usual | First::Look => self.choose(1),
            First::Costs(cost) => self.choose(*cost),
        };
        if passes {
            self.ways.insert(what, way);
        }
        passes
    }

    /// Whether something was written in one of several ways.
    pub(in crate::plugin::text) fn has_ways(&self) -> bool {
        !self.ways.is_empty()
    }

    /// Records that `what` was written without a hidden character.
    pub(super) fn write_plainly(&mut self, what: (char, char)) {
        if let Some(last) = self.ways.get_mut(&what) {
            *last = '\0';
        }
    }
}
