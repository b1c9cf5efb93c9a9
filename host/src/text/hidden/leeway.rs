//! A budget for characters whose presence is a choice, over the texts of one message.
//!
//! Some characters may be present or absent, and the text looks much the same. Each such choice
//! can carry a few bits, so few are allowed, however many texts there are. Repeating the last
//! choice is free.

use std::collections::HashMap;

/// Choices in one message, or in one entry of a listing.
const CHOICES: u32 = 8;
/// Choices in all entries of a listing.
const LISTING: u32 = 32;
/// Signs that may first appear with an unusual space: more than French or German needs.
const TYPOGRAPHY: u32 = 12;
/// Emoji that may first appear with a presentation selector.
const PRESENTATIONS: u32 = 12;
/// Cost of a character that a script's spelling needs, in units of [`Leeway::credit`].
const SPELLING: u32 = 32;

/// The cost of the first variant in which something is written. Another one later costs a choice, or
/// `Costs` again.
pub(super) enum First {
    /// The difference is visible.
    Free,
    /// Usual typography.
    Typography,
    /// It selects an emoji's presentation.
    Presentation,
    Costs(u32),
}

/// The remaining budget for the texts of one result, the messages of one call, or the entries of a
/// listing.
#[derive(Clone)]
pub struct Leeway {
    choices: u32,
    /// Choices left for later entries.
    later: u32,
    typography: u32,
    presentations: u32,
    credit: u32,
    /// The last variant in which each thing was written.
    variants: HashMap<(char, char), char>,
}

impl Default for Leeway {
    fn default() -> Self {
        Self {
            choices: CHOICES,
            later: 0,
            typography: TYPOGRAPHY,
            presentations: PRESENTATIONS,
            credit: 0,
            variants: HashMap::new(),
        }
    }
}

impl Leeway {
    /// Without any choices.
    pub(in crate::text) fn none() -> Self {
        Self { choices: 0, typography: 0, presentations: 0, ..Self::default() }
    }

    /// For the entries of a listing.
    pub fn of_listing() -> Self {
        Self { later: LISTING - CHOICES, ..Self::default() }
    }

    /// Starts the next entry of the listing. What the previous entry left is available to later ones.
    pub fn begin_entry(&mut self) {
        let all = self.later + self.choices;
        self.choices = all.min(CHOICES);
        self.later = all - self.choices;
    }

    pub(super) fn pay(&mut self, cost: u32) -> bool {
        let left = self.choices.checked_sub(cost);
        self.choices = left.unwrap_or(self.choices);
        left.is_some()
    }

    /// Adds the units of letters: see [`super::needed::units`].
    pub(super) fn credit(&mut self, units: u32) {
        self.credit = self.credit.saturating_add(units);
    }

    /// Pays for a character that a script's spelling needs.
    pub(super) fn pay_for_spelling(&mut self) -> bool {
        match self.credit.checked_sub(SPELLING) {
            Some(left) => {
                self.credit = left;
                true
            }
            None => self.pay(1),
        }
    }

    /// Pays for writing `what` in a variant; false if the budget does not allow it.
    pub(super) fn use_variant(&mut self, what: (char, char), variant: char, first: &First) -> bool {
        let last = self.variants.get(&what);
        let passes = match first {
            _ if last == Some(&variant) => return true,
            First::Free if last.is_none() => true,
            First::Typography if last.is_none() && self.typography > 0 => {
                self.typography -= 1;
                true
            }
            First::Presentation if last.is_none() && self.presentations > 0 => {
                self.presentations -= 1;
                true
            }
            First::Free | First::Typography | First::Presentation => self.pay(1),
            First::Costs(cost) => self.pay(*cost),
        };
        if passes {
            self.variants.insert(what, variant);
        }
        passes
    }

    /// Whether something was written in a variant.
    pub(in crate::text) fn has_variants(&self) -> bool {
        !self.variants.is_empty()
    }

    /// Records that `what` was written without a hidden character.
    pub(super) fn use_plain(&mut self, what: (char, char)) {
        if let Some(last) = self.variants.get_mut(&what) {
            *last = '\0';
        }
    }
}
