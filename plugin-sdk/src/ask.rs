//! Questions to the user, the model and the client, as straight-line code: a question
//! without an answer ends the call, which is repeated once the answer is there. The key of a
//! question is its position, so the same code finds its answer. Whether the client supports
//! a question is decided by the host, which knows the rules of each revision.

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::abi::types as raw;
use crate::error::Cause;
use crate::sampling::{Sampled, Sampling};
use crate::{Call, Error, Result, schema};

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
    /// Its display name.
    pub name: Option<String>,
}

/// The state of the questions of a call.
#[derive(Default)]
pub(crate) struct Round {
    asked: usize,
    /// The author's key for the next question.
    key: Option<String>,
    /// Answers by key. Read at the first question, so that plugins without questions do not
    /// contain the code.
    settled: Option<Vec<(String, Settled)>>,
    /// Asked in this round and not answered.
    open: Vec<raw::Question>,
}

/// An answer, as stored across rounds.
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
    /// Asks the user for a yes or no. Declining and cancelling are both a no.
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
        self.elicit(raw::Ask::Form(raw::Form { message: message.into(), schema })).map(|answer| answer.is_some())
    }

    /// Asks the user to fill in a form: a flat struct of text, numbers, booleans and
    /// choices. `None` if the user declines. Do not ask for secrets this way.
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
        self.form_of(message, &schema::form::<T>().map_err(Error::failed)?)
    }

    /// The same with your own schema.
    ///
    /// ```
    /// # use wharf_plugin::*;
    /// fn book(ask: &Call, _: NoArguments) -> Result<String> {
    ///     let schema = json!({ "type": "object", "properties": { "mail": { "type": "string", "format": "email" } } });
    ///     let answer: Option<Value> = ask.form_of("Where to write?", &schema)?;
    ///     Ok(answer.map_or("nowhere".into(), |answer| answer["mail"].to_string()))
    /// }
    /// ```
    pub fn form_of<T: DeserializeOwned>(&self, message: impl Into<String>, schema: &Value) -> Result<Option<T>> {
        let form = raw::Ask::Form(raw::Form { message: message.into(), schema: schema.to_string() });
        match self.elicit(form)? {
            Some(content) => Ok(Some(serde_json::from_str(content.as_deref().unwrap_or("{}"))?)),
            None => Ok(None),
        }
    }

    /// Asks the user to visit a page, for data that must not pass through the client: signing
    /// in, paying. `true` if the user agreed, which does not mean that the visit is finished.
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
        self.elicit(raw::Ask::Url(visit)).map(|answer| answer.is_some())
    }

    /// Asks the client's model: a text, or a [`Sampling`] with more options.
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
        match self.ask(raw::Ask::Sample(sampling.into().0))? {
            Settled::Sampled(sampled) => Ok(sampled),
            _ => Err(Settled::misplaced()),
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
        match self.ask(raw::Ask::Roots)? {
            Settled::Roots(roots) => Ok(roots),
            _ => Err(Settled::misplaced()),
        }
    }

    /// Computes a value once and keeps it over the rounds of a call: the code before a
    /// question runs again when the answer is there. The value is sent through the client
    /// (sealed by the host), so keep it small.
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
            (_, Some(_)) => Err(Settled::misplaced()),
            (key, None) => {
                let value = make()?;
                let made = Settled::Made(serde_json::to_string(&value)?);
                self.round.borrow_mut().settled.get_or_insert_default().push((key, made));
                Ok(value)
            }
        }
    }

    /// Asks several questions in one round, which saves a round trip.
    ///
    /// ```
    /// use wharf_plugin::*;
    ///
    /// fn pack(ask: &Call, _: NoArguments) -> Result<String> {
    ///     let (tent, stove) = ask.together(|ask| (ask.confirm("A tent?"), ask.confirm("A stove?")))?;
    ///     Ok(format!("tent: {}, stove: {}", tent?, stove?))
    /// }
    /// # struct Trip;
    /// # impl Plugin for Trip {
    /// #     fn tools(&self, tools: &mut Tools<'_>) { tools.add("pack", "Packs", pack); }
    /// # }
    /// let script = testing::Script::new().accept(json!({})).decline();
    /// assert_eq!(script.call(&Trip, "pack", json!({})).unwrap().as_text(), "tent: true, stove: false");
    /// ```
    pub fn together<T>(&self, questions: impl FnOnce(&Self) -> T) -> Result<T> {
        let answers = questions(self);
        self.wait()?;
        Ok(answers)
    }

    /// Sets the key of the next question, for clients and tests that read it; the default is
    /// `q1`, `q2` and so on. Keys must not repeat in one call.
    ///
    /// ```
    /// # use wharf_plugin::*;
    /// fn delete(ask: &Call, _: NoArguments) -> Result<String> {
    ///     Ok(ask.key("really").confirm("Delete it?")?.to_string())
    /// }
    /// ```
    pub fn key(&self, key: &str) -> &Self {
        self.round.borrow_mut().key = Some(key.into());
        self
    }

    /// `Some` if the user accepted, with the form's content.
    fn elicit(&self, ask: raw::Ask) -> Result<Option<Option<String>>> {
        match self.ask(ask)? {
            Settled::Accepted(content) => Ok(Some(content)),
            Settled::Declined => Ok(None),
            _ => Err(Settled::misplaced()),
        }
    }

    fn ask(&self, ask: raw::Ask) -> Result<Settled> {
        match self.next() {
            (key, Some(Settled::Unavailable(why))) => {
                let question = Box::new(raw::Question { key, ask });
                Err(Error(Cause::Unavailable { why, question }))
            }
            (_, Some(settled)) => Ok(settled),
            (key, None) => {
                self.round.borrow_mut().open.push(raw::Question { key, ask });
                self.wait().and(Err(Error::not_found()))
            }
        }
    }

    /// Repeats a refused question, as if it had not been answered, so that a later answer
    /// still counts.
    pub(crate) fn insist(&self, question: raw::Question) -> Result<raw::InputRequired> {
        let round = self.round.borrow();
        let state = state(round.settled.iter().flatten().filter(|(key, _)| *key != question.key))?;
        Ok(raw::InputRequired { questions: vec![question], state })
    }

    /// Ends the round if there are unanswered questions.
    fn wait(&self) -> Result<()> {
        let round = self.round.borrow();
        if round.open.is_empty() {
            return Ok(());
        }
        let state = state(round.settled.iter().flatten())?;
        let questions = round.open.clone();
        Err(Error(Cause::Asked(Box::new(raw::InputRequired { questions, state }))))
    }

    /// The key of the next question, and its answer if there is one.
    fn next(&self) -> (String, Option<Settled>) {
        let mut round = self.round.borrow_mut();
        round.asked += 1;
        let key = round.key.take().unwrap_or_else(|| ["q", &round.asked.to_string()].concat());
        let settled = round.settled.get_or_insert_with(|| earlier(&self.context));
        if let Some((_, settled)) = settled.iter().find(|(settled, _)| *settled == key) {
            let settled = settled.clone();
            return (key, Some(settled));
        }
        let Some(answer) = self.context.answers.iter().find(|answer| answer.key == key) else {
            return (key, None);
        };
        let answer = Settled::from(&answer.reply);
        settled.push((key.clone(), answer.clone()));
        (key, Some(answer))
    }
}

/// The answers so far, for the next round.
fn state<'a>(settled: impl Iterator<Item = &'a (String, Settled)>) -> Result<Option<Vec<u8>>> {
    let settled: Vec<_> = settled.collect();
    if settled.is_empty() { Ok(None) } else { Ok(Some(serde_json::to_vec(&settled)?)) }
}

/// The answers of earlier rounds; an unreadable state has none.
fn earlier(context: &raw::CallContext) -> Vec<(String, Settled)> {
    context.state.as_deref().and_then(|state| serde_json::from_slice(state).ok()).unwrap_or_default()
}

impl Settled {
    /// The error for an answer to another kind of question.
    fn misplaced() -> Error {
        Error::failed("the answer does not fit the question")
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
