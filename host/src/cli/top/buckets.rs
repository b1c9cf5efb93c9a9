//! How long calls took, as counts of those that took at most so long.

/// Bounds in seconds and how many were not above them, by rising bounds.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Buckets(Vec<(f64, f64)>);

impl Buckets {
    /// With these bounds, of which the last one should be infinite.
    pub(super) fn with(bounds: impl IntoIterator<Item = f64>) -> Self {
        Self(bounds.into_iter().map(|bound| (bound, 0.0)).collect())
    }

    /// Counts so many at most at that bound.
    pub(super) fn add(&mut self, bound: f64, count: f64) {
        match self.0.binary_search_by(|(own, _)| own.total_cmp(&bound)) {
            Ok(at) => self.0[at].1 += count,
            Err(at) => self.0.insert(at, (bound, count)),
        }
    }

    pub(super) fn add_all(&mut self, other: &Self) {
        for (bound, count) in &other.0 {
            self.add(*bound, *count);
        }
    }

    /// Counts one that took so long.
    pub(super) fn observe(&mut self, seconds: f64) {
        for (bound, count) in &mut self.0 {
            if seconds <= *bound {
                *count += 1.0;
            }
        }
    }

    /// Those that were counted since.
    pub(super) fn since(&self, before: &Self) -> Self {
        let count = |bound: f64| {
            let at = before.0.binary_search_by(|(own, _)| own.total_cmp(&bound));
            at.map_or(0.0, |at| before.0[at].1)
        };
        Self(self.0.iter().map(|(bound, now)| (*bound, (now - count(*bound)).max(0.0))).collect())
    }

    /// Whether something was counted that is not any more.
    pub(super) fn are_less_than(&self, before: &Self) -> bool {
        before.0.iter().any(|(bound, count)| {
            let at = self.0.binary_search_by(|(own, _)| own.total_cmp(bound));
            at.map_or(0.0, |at| self.0[at].1) < *count
        })
    }

    /// The time that this share of them took at most, from 0 to 1: within its bucket, as if all of it were spread evenly.
    /// In the last one, which has no end, it is where that begins. `None`: there are none.
    pub(super) fn quantile(&self, share: f64) -> Option<f64> {
        let all = self.0.last().map(|(_, count)| *count).filter(|count| *count > 0.0)?;
        let rank = share * all;
        let (mut start, mut below) = (0.0, 0.0);
        for (bound, count) in &self.0 {
            if *count >= rank && *count > below {
                let part = ((rank - below) / (count - below)).clamp(0.0, 1.0);
                return Some(if bound.is_finite() { start + (bound - start) * part } else { start });
            }
            (start, below) = (*bound, count.max(below));
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::Buckets;

    fn of(counts: &[(f64, f64)]) -> Buckets {
        let mut buckets = Buckets::default();
        counts.iter().rev().for_each(|(bound, count)| buckets.add(*bound, *count));
        buckets
    }

    #[test]
    fn a_quantile_is_within_its_bucket() {
        let buckets = of(&[(0.1, 0.0), (0.2, 8.0), (0.4, 10.0), (f64::INFINITY, 10.0)]);
        let near = |share: f64, wanted: f64| {
            let found = buckets.quantile(share).expect("some");
            assert!((found - wanted).abs() < 1e-9, "{share}: {found} and not {wanted}");
        };
        near(0.0, 0.1);
        near(0.5, 0.1625);
        near(0.8, 0.2);
        near(0.95, 0.35);
        near(1.0, 0.4);
    }

    #[test]
    fn those_above_all_bounds_took_at_least_the_last_one() {
        assert_eq!(of(&[(1.0, 0.0), (f64::INFINITY, 3.0)]).quantile(0.5), Some(1.0));
        assert_eq!(of(&[(f64::INFINITY, 3.0)]).quantile(0.5), Some(0.0));
    }

    #[test]
    fn without_any_there_is_no_quantile() {
        assert_eq!(Buckets::default().quantile(0.5), None);
        assert_eq!(of(&[(1.0, 0.0), (f64::INFINITY, 0.0)]).quantile(0.5), None);
        // Of a server that counts wrong.
        assert_eq!(of(&[(1.0, 5.0), (2.0, 1.0), (f64::INFINITY, 4.0)]).quantile(0.5), Some(0.4));
    }

    #[test]
    fn what_was_counted_since_is_a_difference_by_bound() {
        let (before, now) = (of(&[(1.0, 2.0), (2.0, 3.0)]), of(&[(0.5, 1.0), (1.0, 5.0), (2.0, 9.0)]));
        assert_eq!(now.since(&before), of(&[(0.5, 1.0), (1.0, 3.0), (2.0, 6.0)]));
        assert!(before.are_less_than(&now) && !now.are_less_than(&before));
        let mut observed = Buckets::with([1.0, f64::INFINITY]);
        [0.5, 1.0, 7.0].into_iter().for_each(|seconds| observed.observe(seconds));
        assert_eq!(observed, of(&[(1.0, 2.0), (f64::INFINITY, 3.0)]));
    }
}
