//! Mutation of inputs: changed bytes, and removed, repeated and combined pieces.

use crate::random::Random;

/// Maximum number of bytes of an input.
const LONGEST: usize = 4096;

/// Deterministic: the same seed generates the same inputs.
pub(crate) struct Mutator<'a> {
    random: Random,
    words: &'a [&'static str],
}

impl<'a> Mutator<'a> {
    /// `words` are tokens of the input format.
    pub(crate) fn new(seed: u64, words: &'a [&'static str]) -> Self {
        Self { random: Random::new(seed), words }
    }

    /// An input of the corpus with one to eight changes; an empty corpus is one empty input.
    pub(crate) fn next(&mut self, corpus: &[Vec<u8>]) -> Vec<u8> {
        let mut input = self.one(corpus);
        for _ in 0..=self.random.below(8) {
            self.change(&mut input, corpus);
        }
        input.truncate(LONGEST);
        input
    }

    fn one(&mut self, corpus: &[Vec<u8>]) -> Vec<u8> {
        let at = self.random.below(corpus.len());
        corpus.get(at).cloned().unwrap_or_default()
    }

    fn change(&mut self, input: &mut Vec<u8>, corpus: &[Vec<u8>]) {
        let (from, to) = (self.random.below(input.len() + 1), self.random.below(input.len() + 1));
        let (from, to) = (from.min(to), from.max(to));
        match self.random.below(8) {
            0 if from < input.len() => input[from] ^= 1 << self.random.below(8),
            1 if from < input.len() => input[from] = self.random.below(256) as u8,
            2 => drop(input.drain(from..to.min(from + 16))),
            3 => drop(input.drain(from..to)),
            4 => {
                let piece = input[from..to.min(from + 64)].to_vec();
                // Sometimes deeper than the nesting limit.
                let most = if self.random.below(16) == 0 { 130 } else { 2 };
                let piece = piece.repeat(1 + self.random.below(most));
                input.splice(from..from, piece);
            }
            5 if !self.words.is_empty() => {
                let word = self.words[self.random.below(self.words.len())];
                let end = if self.random.below(2) == 0 { from } else { to.min(from + word.len()) };
                input.splice(from..end, word.bytes());
            }
            6 => {
                let other = self.one(corpus);
                let (start, end) = (self.random.below(other.len() + 1), self.random.below(other.len() + 1));
                input.splice(from..to, other[start.min(end)..start.max(end)].iter().copied());
            }
            _ => {
                let byte = self.random.below(256) as u8;
                input.insert(from, byte);
            }
        }
    }
}
