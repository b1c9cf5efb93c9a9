//! Tools for numbers: arithmetic of any precision, units and statistics.

mod evaluate;
mod statistics;
#[cfg(test)]
mod tests;

use wharf_plugin::*;

struct Math;

impl Plugin for Math {
    fn tools(&self, tools: &mut Tools) {
        tools
            .add(
                "evaluate",
                "Evaluates an arithmetic expression: integers and fractions of any size exactly, \
                 roots, logarithms and trigonometry to 14 digits. Knows + - * / ^ mod ! sqrt sin cos tan ln log, \
                 pi, e, hexadecimal, percent and units. \
                 Use it for every calculation that must be right.",
                evaluate::evaluate,
            )
            .title("Calculate")
            .read_only();
        tools
            .add(
                "convert",
                "Converts an amount from one unit to another: length, mass, time, data, temperature, \
                 energy, pressure and so on, compound units such as km/h included. No currencies.",
                evaluate::convert,
            )
            .title("Convert units")
            .read_only();
        tools
            .add(
                "statistics",
                "Describes a list of numbers: count, sum, mean, median, quartiles, extremes, \
                 variance and standard deviation.",
                statistics::statistics,
            )
            .title("Statistics")
            .read_only();
    }
}

export!(Math);
