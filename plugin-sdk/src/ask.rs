//! Questions to the user, the model and the client, as straight-line code: a question
//! without an answer ends the call, which is made again once the answer is there. Its key
//! is its place in the order of asking, so the same code finds it again.

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::abi::types as raw;
use crate::error::Cause;
use crate::sampling::{Sampled, Sampling};
use crate::{Call, Error, Feature, Result, schema};

/// A folder that the client works in.
///
/// ```
/// # use wharf_plugin::*;
/// fn folders(ask: &Call, _: NoArguments) -> Result<String> {
///     let roots: Vec<Root> = ask.roots()?;
///     Ok(roots.into_iter().map(|root| root.uri + "\n").collect())
/// }
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Root {
    /// A `file:` URI.
    pub uri: String,
    /// Its name for people.
    pub name: Option<String>,
}

/// How far the questions of a call are.
#[derive(Default)]
pub(crate) struct Round {
    asked: usize,
    /// By place in the order of asking; read at the first question, so that plugins which
    /// never ask do not carry the code.
    settled: Option<Vec<(usize, Settled)>>,
}

/// An answer, in the form that outlives the round.
#[derive(Clone, Serialize, Deserialize)]
enum Settled {
    Accepted(Option<String>),
    Declined,
    Sampled(Sampled),
    Roots(Vec<Root>),
    Unavailable(String),
    Made(String),
}

impl Call {
    /// Asks the user for a yes or no. Declining and closing the question are both a no.
    ///
    /// ```
    /// use wharf_plugin::*;
    ///
    /// fn delete(ask: &Call, _: NoArguments) -> Result<&'static str> {
    ///     if !ask.confirm("Delete 3 files?")? {
    ///         return Ok("nothing deleted");
    ///     }
    ///     Ok("3 files deleted")
    /// }
    /// # struct Files;
    /// # impl Plugin for Files {
    /// #     fn tools(&self, tools: &mut Tools<'_>) { tools.add("delete", "Deletes", delete); }
    /// # }
    /// let script = testing::Script::new().accept(json!({}));
    /// assert_eq!(script.call(&Files, "delete", json!({})).unwrap().as_text(), "3 files deleted");
    /// ```
    pub fn confirm(&self, message: impl Into<String>) -> Result<bool> {
        let schema = r#"{"type":"object","properties":{}}"#.into();
        self.elicit(Feature::Form, raw::Ask::Form(raw::Form { message: message.into(), schema }))
            .map(|answer| answer.is_some())
    }

    /// Asks the user to fill in a form: a flat struct of text, numbers, booleans and
    /// choices. `None` if the user would not. Never ask for secrets this way.
    ///
    /// ```
    /// use wharf_plugin::*;
    ///
    /// #[derive(Deserialize, JsonSchema)]
    /// struct Table {
    ///     /// How many people.
    ///     seats: u32,
    ///     outside: bool,
    /// }
    /// fn book(ask: &Call, _: NoArguments) -> Result<String> {
    ///     Ok(match ask.form::<Table>("Which table?")? {
    ///         Some(table) => format!("{} seats booked", table.seats),
    ///         None => "nothing booked".into(),
    ///     })
    /// }
    /// # struct Inn;
    /// # impl Plugin for Inn {
    /// #     fn tools(&self, tools: &mut Tools<'_>) { tools.add("book", "Books", book); }
    /// # }
    /// let script = testing::Script::new().accept(json!({ "seats": 4, "outside": true }));
    /// assert_eq!(script.call(&Inn, "book", json!({})).unwrap().as_text(), "4 seats booked");
    /// ```
    pub fn form<T: DeserializeOwned + JsonSchema>(&self, message: impl Into<String>) -> Result<Option<T>> {
        let schema = schema::input::<T>().map_err(Error::failed)?.to_string();
        let form = raw::Ask::Form(raw::Form { message: message.into(), schema });
        match self.elicit(Feature::Form, form)? {
            Some(content) => Ok(Some(serde_json::from_str(content.as_deref().unwrap_or("{}"))?)),
            None => Ok(None),
        }
    }

    /// Asks the user to visit a page, for what must not pass through the client: signing
    /// in, paying. `true` if the user agreed to, which does not say that it is done.
    ///
    /// ```
    /// # use wharf_plugin::*;
    /// fn sign_in(ask: &Call, _: NoArguments) -> Result<&'static str> {
    ///     let agreed = ask.visit("Please sign in", "https://example.org/login")?;
    ///     Ok(if agreed { "signing in" } else { "not signed in" })
    /// }
    /// ```
    pub fn visit(&self, message: impl Into<String>, url: impl Into<String>) -> Result<bool> {
        let visit = raw::UrlVisit { message: message.into(), url: url.into() };
        self.elicit(Feature::Visit, raw::Ask::Url(visit)).map(|answer| answer.is_some())
    }

    /// Asks the client's model: a text, or a [`Sampling`] for more than that.
    ///
    /// ```
    /// use wharf_plugin::*;
    ///
    /// fn summarise(ask: &Call, _: NoArguments) -> Result<String> {
    ///     Ok(ask.sample("Summarise in one word: it rains again")?.text())
    /// }
    /// # struct Words;
    /// # impl Plugin for Words {
    /// #     fn tools(&self, tools: &mut Tools<'_>) { tools.add("summarise", "Shortens", summarise); }
    /// # }
    /// let script = testing::Script::new().model("rain");
    /// assert_eq!(script.call(&Words, "summarise", json!({})).unwrap().as_text(), "rain");
    /// ```
    pub fn sample(&self, sampling: impl Into<Sampling>) -> Result<Sampled> {
        match self.ask(Feature::Sample, raw::Ask::Sample(sampling.into().0))? {
            Settled::Sampled(sampled) => Ok(sampled),
            other => Err(other.misplaced()),
        }
    }

    /// Asks for the folders that the client works in.
    ///
    /// ```
    /// # use wharf_plugin::*;
    /// fn count(ask: &Call, _: NoArguments) -> Result<String> {
    ///     Ok(ask.roots()?.len().to_string())
    /// }
    /// ```
    pub fn roots(&self) -> Result<Vec<Root>> {
        match self.ask(Feature::Roots, raw::Ask::Roots)? {
            Settled::Roots(roots) => Ok(roots),
            other => Err(other.misplaced()),
        }
    }

    /// Makes a value once and remembers it over the rounds that questions cost: the code
    /// before a question runs again when the answer is there. The value travels through
    /// the client (sealed by the host), so keep it small.
    ///
    /// ```
    /// use wharf_plugin::*;
    ///
    /// fn delete(ask: &Call, _: NoArguments) -> Result<String> {
    ///     let found: Vec<String> = ask.once(|| Ok(vec!["a.txt".into()]))?;
    ///     if !ask.confirm(format!("Delete {}?", found.join(", ")))? {
    ///         return Ok("kept".into());
    ///     }
    ///     Ok(format!("deleted {}", found.join(", ")))
    /// }
    /// # struct Files;
    /// # impl Plugin for Files {
    /// #     fn tools(&self, tools: &mut Tools<'_>) { tools.add("delete", "Deletes", delete); }
    /// # }
    /// # let script = testing::Script::new().accept(json!({}));
    /// # assert_eq!(script.call(&Files, "delete", json!({})).unwrap().as_text(), "deleted a.txt");
    /// ```
    pub fn once<T: Serialize + DeserializeOwned>(&self, make: impl FnOnce() -> Result<T>) -> Result<T> {
        match self.next() {
            (_, Some(Settled::Made(made))) => Ok(serde_json::from_str(&made)?),
            (_, Some(other)) => Err(other.misplaced()),
            (place, None) => {
                let value = make()?;
                let made = Settled::Made(serde_json::to_string(&value)?);
                self.round.borrow_mut().settled.get_or_insert_default().push((place, made));
                Ok(value)
            }
        }
    }

    /// `Some` if the user accepted; in it the form's content.
    fn elicit(&self, feature: Feature, ask: raw::Ask) -> Result<Option<Option<String>>> {
        match self.ask(feature, ask)? {
            Settled::Accepted(content) => Ok(Some(content)),
            Settled::Declined => Ok(None),
            other => Err(other.misplaced()),
        }
    }

    fn ask(&self, feature: Feature, ask: raw::Ask) -> Result<Settled> {
        let (place, settled) = self.next();
        if let Some(settled) = settled {
            return Ok(settled);
        }
        if !self.can(feature) {
            return Err(Error::failed(match feature {
                Feature::Form => "this client cannot ask its user",
                Feature::Visit => "this client cannot send its user to a page",
                Feature::Roots => "this client does not tell its folders",
                _ => "this client does not lend its model",
            }));
        }
        let round = self.round.borrow();
        let settled = round.settled.as_deref().unwrap_or_default();
        let state = if settled.is_empty() { None } else { Some(serde_json::to_vec(settled)?) };
        let questions = vec![raw::Question { key: key(place), ask }];
        Err(Error(Cause::Asked(Box::new(raw::InputRequired { questions, state }))))
    }

    /// The place of the next question, and its answer if there is one.
    fn next(&self) -> (usize, Option<Settled>) {
        let mut round = self.round.borrow_mut();
        round.asked += 1;
        let place = round.asked;
        let settled = round.settled.get_or_insert_with(|| earlier(&self.context));
        if let Some((_, settled)) = settled.iter().find(|(settled, _)| *settled == place) {
            return (place, Some(settled.clone()));
        }
        let key = key(place);
        let Some(answer) = self.context.answers.iter().find(|answer| answer.key == key) else {
            return (place, None);
        };
        let answer = Settled::from(&answer.reply);
        settled.push((place, answer.clone()));
        (place, Some(answer))
    }
}

fn key(place: usize) -> String {
    ["q", &place.to_string()].concat()
}

/// What rounds before the last one settled; a state that is not ours settles nothing.
fn earlier(context: &raw::CallContext) -> Vec<(usize, Settled)> {
    context.state.as_deref().and_then(|state| serde_json::from_slice(state).ok()).unwrap_or_default()
}

impl Settled {
    /// The answer to another kind of question than was asked.
    fn misplaced(self) -> Error {
        match self {
            Self::Unavailable(why) => Error::failed(why),
            _ => Error::failed("the answer does not fit the question"),
        }
    }
}

impl From<&raw::Reply> for Settled {
    fn from(reply: &raw::Reply) -> Self {
        match reply {
            raw::Reply::Elicited(elicited) if elicited.action == raw::ElicitAction::Accept => {
                Self::Accepted(elicited.content.clone())
            }
            raw::Reply::Elicited(_) => Self::Declined,
            raw::Reply::Sampled(sampled) => Self::Sampled(sampled.into()),
            raw::Reply::Roots(roots) => {
                Self::Roots(roots.iter().map(|root| Root { uri: root.uri.clone(), name: root.name.clone() }).collect())
            }
            raw::Reply::Unavailable(why) => Self::Unavailable(why.clone()),
        }
    }
}
