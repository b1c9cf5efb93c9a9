//! The change of a configuration file, for the person who is asked about it.

/// The lines that differ. What is between two changes is shown too.
pub(super) fn diff(old: &str, new: &str) -> String {
    let (old, new): (Vec<&str>, Vec<&str>) = (old.lines().collect(), new.lines().collect());
    let same = |pairs: &mut dyn Iterator<Item = (&&str, &&str)>| pairs.take_while(|(a, b)| a == b).count();
    let start = same(&mut old.iter().zip(&new));
    let end = same(&mut old[start..].iter().rev().zip(new[start..].iter().rev()));
    let lines =
        |sign: char, lines: &[&str]| -> Vec<String> { lines.iter().map(|line| format!("  {sign} {line}")).collect() };
    let mut shown = lines('-', &old[start..old.len() - end]);
    shown.extend(lines('+', &new[start..new.len() - end]));
    shown.join("\n")
}
