//! URI templates of guests: compiled once, then matched with URIs.
//!
//! Never expands templates. Every expansion of a template matches, and named variables match in any
//! order, since clients change it.
//!
//! Source: RFC 6570, all four levels; the table of operators is its appendix A.

use iri_string::template::UriTemplateStr;
use regex::{Regex, RegexBuilder, escape};

use crate::plugin::schema::allowance::Allowance;
use crate::plugin::schema::pattern::{DFA_CACHE, PatternCost};
use crate::text::quote;

/// Maximum bytes of a template.
const MAX_TEMPLATE: usize = 2 << 10;
/// Maximum bytes of a URI that is matched.
const MAX_URI: usize = 64 << 10;
/// Maximum bytes of a compiled pattern in all forms of the regex engine.
const MAX_PATTERN: usize = 1 << 20;
/// Maximum bytes of a URI that is matched with a pattern without a small DFA.
const MAX_SLOW_URI: usize = 4 << 10;
/// Longer prefixes (`{name:300}`) are not enforced: counting takes states for each character.
const COUNTED: usize = 32;
/// Nor are others where counting takes more states than this for each byte of a URI.
const SLOW_STATES: u64 = 128;

/// A compiled template.
#[derive(Debug)]
pub struct UriTemplate {
    /// Its capture groups are the values, in order.
    pattern: Regex,
    variables: Vec<String>,
    literals: usize,
    /// Maximum bytes of a URI that is matched with it.
    longest: usize,
}

impl UriTemplate {
    /// Compiles a template. It must start with a scheme, which decides the plugin that a URI
    /// belongs to.
    ///
    /// # Errors
    /// Why it is invalid: a fragment for people.
    pub fn compile(template: &str) -> Result<Self, String> {
        Self::compile_within(template, &mut Allowance::new())
    }

    /// Compiles one of several templates.
    ///
    /// # Errors
    /// As [`UriTemplate::compile`], and if the allowance is used up.
    pub(in crate::plugin) fn compile_within(template: &str, allowance: &mut Allowance) -> Result<Self, String> {
        if template.is_empty() || template.len() > MAX_TEMPLATE {
            return Err(format!("its URI template must have 1 to {MAX_TEMPLATE} bytes"));
        }
        // Checked here, since the parser panics on a multi-byte character after `%a`.
        if let Some(c) = template.chars().find(|c| !c.is_ascii()) {
            return Err(format!(
                "its URI template has a character that URIs do not allow: {}",
                quote(&c.to_string(), 20)
            ));
        }
        UriTemplateStr::new(template).map_err(|error| format!("its URI template does not follow RFC 6570: {error}"))?;
        if !begins_with_scheme(template) {
            return Err("its URI template does not begin with a scheme, such as notes:".into());
        }
        let (mut source, mut variables, literals) = to_pattern(template, COUNTED)?;
        let too_large = || "its URI template is too large".to_owned();
        let mut cost = PatternCost::of(&source, MAX_PATTERN).map_err(|_| too_large())?;
        if cost.slow_states() > SLOW_STATES {
            (source, variables, _) = to_pattern(template, 0)?;
            cost = PatternCost::of(&source, MAX_PATTERN).map_err(|_| too_large())?;
        }
        allowance.take_template(&cost)?;
        let pattern = RegexBuilder::new(&source)
            .size_limit(MAX_PATTERN)
            .dfa_size_limit(DFA_CACHE)
            .build()
            .map_err(|_| too_large())?;
        let longest = if cost.slow_states() == 0 { MAX_URI } else { MAX_SLOW_URI };
        Ok(Self { pattern, variables, literals, longest })
    }

    /// Whether the template can expand to this URI, in time linear in its length.
    pub fn matches(&self, uri: &str) -> bool {
        uri.len() <= self.longest && self.pattern.is_match(uri) && fluent_uri::Uri::parse(uri).is_ok()
    }

    /// The names of its variables, with repetitions.
    pub fn variables(&self) -> &[String] {
        &self.variables
    }

    /// Characters outside of its expressions: of several templates that match a URI, the one
    /// with the most is the most specific.
    pub fn literals(&self) -> usize {
        self.literals
    }
}

/// A template as a regex that enforces prefixes of up to `counted` characters, with its
/// variables and the number of characters outside of its expressions.
fn to_pattern(template: &str, counted: usize) -> Result<(String, Vec<String>, usize), String> {
    let mut pattern = String::from("^");
    let (mut variables, mut literals) = (Vec::new(), 0);
    let mut rest = template;
    while let Some((literal, after)) = rest.split_once('{') {
        let (body, after) = after.split_once('}').ok_or("its URI template has an unmatched brace")?;
        literals += literal.len();
        pattern += &escape(literal);
        pattern += &Expression::parse(body, counted)?.pattern(&mut variables);
        rest = after;
    }
    literals += rest.len();
    pattern += &escape(rest);
    pattern.push('$');
    Ok((pattern, variables, literals))
}

fn begins_with_scheme(template: &str) -> bool {
    let scheme = template.split_once(':').map_or("", |(scheme, _)| scheme);
    scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme.bytes().all(|b| b.is_ascii_alphanumeric() || b"+-.".contains(&b))
}

/// The content of a pair of braces.
struct Expression<'a> {
    operator: Operator,
    variables: Vec<Variable<'a>>,
    /// The longest prefix that is enforced.
    counted: usize,
}

struct Variable<'a> {
    name: &'a str,
    explode: bool,
    prefix: Option<usize>,
}

/// A row of the table of operators.
struct Operator {
    first: &'static str,
    separator: &'static str,
    /// The expansion has the variables' names.
    named: bool,
    /// Reserved characters are not encoded.
    reserved: bool,
}

impl<'a> Expression<'a> {
    /// `body` has passed the parser.
    fn parse(body: &'a str, counted: usize) -> Result<Self, String> {
        let operator = |first, separator, named, reserved| Operator { first, separator, named, reserved };
        let (operator, list) = match body.as_bytes().first() {
            Some(b'+') => (operator("", ",", false, true), &body[1..]),
            Some(b'#') => (operator("#", ",", false, true), &body[1..]),
            Some(b'.') => (operator(".", ".", false, false), &body[1..]),
            Some(b'/') => (operator("/", "/", false, false), &body[1..]),
            Some(b';') => (operator(";", ";", true, false), &body[1..]),
            Some(b'?') => (operator("?", "&", true, false), &body[1..]),
            Some(b'&') => (operator("&", "&", true, false), &body[1..]),
            _ => (operator("", ",", false, false), body),
        };
        let variables = list.split(',').map(Variable::parse).collect::<Result<_, _>>()?;
        Ok(Self { operator, variables, counted })
    }

    /// A regex of all expansions, whichever variables are defined.
    fn pattern(&self, names: &mut Vec<String>) -> String {
        names.extend(self.variables.iter().map(|variable| variable.name.to_owned()));
        let Operator { first, separator, named, .. } = self.operator;
        let (first, separator) = (escape(first), escape(separator));
        let inside = if named {
            let pairs: Vec<String> = self.variables.iter().map(|variable| self.pair(variable)).collect();
            let pair = pairs.join("|");
            format!("(?:{pair})(?:{separator}(?:{pair}))*")
        } else {
            // An undefined variable is skipped, so a prefix can be enforced at a position
            // only if there is one variable.
            let values: Vec<String> = self.variables.iter().map(|variable| self.value(variable)).collect();
            let values = values.iter().map(|value| format!("({value})"));
            let places = values.reduce(|places, value| format!("{places}(?:{separator}{value})?")).unwrap_or_default();
            // Further elements of lists.
            let lists = self.variables.iter().any(|variable| variable.prefix.is_none());
            let more = if lists { format!("(?:(?:{separator}|,){})*", self.element()) } else { String::new() };
            places + &more
        };
        format!("(?:{first}{inside})?")
    }

    /// `name=value`; an exploded variable may be an object with other names.
    fn pair(&self, variable: &Variable<'_>) -> String {
        let name = escape(variable.name);
        let character = self.character();
        if variable.explode {
            return format!("(?:{character})*(?:=((?:{character})*))?");
        }
        let list = if variable.prefix.is_none() { format!("(?:,(?:{character})*)*") } else { String::new() };
        format!("{name}(?:=({}){list})?", self.value(variable))
    }

    /// One value, or the first of a list.
    fn value(&self, variable: &Variable<'_>) -> String {
        let alone = self.operator.named || self.variables.len() == 1;
        match variable.prefix {
            // One character of the value is up to four encoded bytes.
            Some(length) if alone && length <= self.counted => {
                format!("(?:{}(?:%[0-9A-Fa-f]{{2}}){{0,3}}){{0,{length}}}", self.character())
            }
            _ if self.operator.named => format!("(?:{})*", self.character()),
            _ => self.element(),
        }
    }

    /// An element of a list, or a pair of an object.
    fn element(&self) -> String {
        let character = self.character();
        let pair = if self.variables.iter().any(|variable| variable.explode) {
            format!("(?:=(?:{character})*)?")
        } else {
            String::new()
        };
        format!("(?:{character})*{pair}")
    }

    /// RFC 6570 section 3.2.1: unreserved characters; with `+` and `#` also reserved ones.
    fn character(&self) -> &'static str {
        if self.operator.reserved {
            r"[A-Za-z0-9\-._~:/?#\[\]@!$&'()*+,;=]|%[0-9A-Fa-f]{2}"
        } else {
            r"[A-Za-z0-9\-._~]|%[0-9A-Fa-f]{2}"
        }
    }
}

impl<'a> Variable<'a> {
    fn parse(spec: &'a str) -> Result<Self, String> {
        if let Some(name) = spec.strip_suffix('*') {
            return Ok(Self { name, explode: true, prefix: None });
        }
        let Some((name, length)) = spec.split_once(':') else {
            return Ok(Self { name: spec, explode: false, prefix: None });
        };
        // Section 2.4.1; the parser does not check the number.
        match length.parse() {
            Ok(length @ 1..=9999) if !spec.contains(":0") => Ok(Self { name, explode: false, prefix: Some(length) }),
            _ => Err(format!("its URI template has a prefix that is not 1 to 9999: {}", quote(spec, 80))),
        }
    }
}

#[cfg(test)]
mod tests;
