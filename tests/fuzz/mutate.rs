//! Mutation of inputs: changed bytes, and removed, repeated and combined pieces.

/// Maximum number of bytes of an input.
const LONGEST: usize = 4096;

/// Deterministic: the same seed generates the same inputs.
pub(crate) struct Mutator<'a> {
    state: u64,
    words: &'a [&'static str],
}

impl<'a> Mutator<'a> {
    /// `words` are tokens of the input format.
    pub(crate) fn new(seed: u64, words: &'a [&'static str]) -> Self {
        Self { state: seed, words }
    }

    /// An input of the corpus with one to eight changes; an empty corpus is one empty input.
    pub(crate) fn next(&mut self, corpus: &[Vec<u8>]) -> Vec<u8> {
        let mut input = self.one(corpus);
        for _ in 0..=self.below(8) {
            self.change(&mut input, corpus);
        }
        input.truncate(LONGEST);
        input
    }

    fn one(&mut self, corpus: &[Vec<u8>]) -> Vec<u8> {
        let at = self.below(corpus.len());
        corpus.get(at).cloned().unwrap_or_default()
    }

    fn change(&mut self, input: &mut Vec<u8>, corpus: &[Vec<u8>]) {
        let (from, to) = (self.below(input.len() + 1), self.below(input.len() + 1));
        let (from, to) = (from.min(to), from.max(to));
        match self.below(8) {
            0 if from < input.len() => input[from] ^= 1 << self.below(8),
            1 if from < input.len() => input[from] = self.below(256) as u8,
            2 => drop(input.drain(from..to.min(from + 16))),
            3 => drop(input.drain(from..to)),
            4 => {
                let piece = input[from..to.min(from + 64)].to_vec();
                // Sometimes deeper than the nesting limit.
                let most = if self.below(16) == 0 { 130 } else { 2 };
                let piece = piece.repeat(1 + self.below(most));
                input.splice(from..from, piece);
            }
            5 if !self.words.is_empty() => {
                let word = self.words[self.below(self.words.len())];
                let end = if self.below(2) == 0 { from } else { to.min(from + word.len()) };
                input.splice(from..end, word.bytes());
            }
            6 => {
                let other = self.one(corpus);
                let (start, end) = (self.below(other.len() + 1), self.below(other.len() + 1));
                input.splice(from..to, other[start.min(end)..start.max(end)].iter().copied());
            }
            _ => {
                let byte = self.below(256) as u8;
                input.insert(from, byte);
            }
        }
    }

    /// A number below `end`, or 0.
    fn below(&mut self, end: usize) -> usize {
        // SplitMix64 (Steele, Lea, Flood 2014): short, and good enough to choose bytes.
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) % (end as u64).max(1)) as usize
    }
}
