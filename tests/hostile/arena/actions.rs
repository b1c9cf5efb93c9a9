//! Actions of a row: putting files into the folder, calling tools, and reading logs and lists.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{Answer, Arena, Of, Pending, SLACK};
use crate::levels::Levels;
use crate::support::client::first_text;
use crate::support::home::component;

impl Arena {
    /// Puts a plugin into the folder, and waits until it is loaded.
    pub(crate) fn loads(&mut self, plugin: &str, bytes: &[u8]) {
        self.home.put_bytes(bytes, plugin);
        self.wait_until_loaded(plugin, bytes);
    }

    /// As [`Arena::loads`], for a compiled guest.
    pub(crate) fn loads_guest(&mut self, guest: &str, plugin: &str) {
        let bytes = std::fs::read(component(guest)).expect("a guest");
        self.loads(plugin, &bytes);
    }

    /// Waits until the file with this content is in service.
    pub(crate) fn wait_until_loaded(&mut self, plugin: &str, bytes: &[u8]) {
        let content = self.expected.put(plugin, bytes);
        self.until(&format!("{plugin} is loaded"), |arena| {
            let serves = |record: &&Value| ["load", "swap"].iter().any(|event| record["event"] == *event);
            arena.last(plugin).filter(serves).is_some_and(|record| record["content"] == content.as_str())
        });
    }

    /// Allows this content to be put into service without waiting for it.
    pub(crate) fn may_serve(&mut self, plugin: &str, bytes: &[u8]) {
        self.expected.put(plugin, bytes);
    }

    /// Puts a plugin into the folder, which must be refused with a reason that contains `word`.
    pub(crate) fn refuses(&mut self, plugin: &str, bytes: &[u8], word: &str) {
        self.home.put_bytes(bytes, plugin);
        self.refused(plugin, word);
    }

    /// Waits until the file of that name is refused again.
    pub(crate) fn refused(&mut self, plugin: &str, word: &str) {
        self.expected.refused(plugin);
        let mut reason = None;
        self.until(&format!("{plugin} is refused"), |arena| {
            let last = arena.last(plugin);
            assert!(last.is_none_or(|record| record["event"] != "load"), "{plugin} was loaded");
            reason = last.filter(|record| record["event"] == "reject").map(|record| record["reason"].to_string());
            reason.is_some()
        });
        let reason = reason.expect("just seen");
        assert!(reason.contains(word) && reason.chars().count() < 600, "{plugin} is refused with: {reason}");
    }

    /// Starts a call of a tool without waiting.
    pub(crate) fn start_call(&mut self, tool: &str, arguments: Value) -> u64 {
        self.start_call_with_meta(tool, arguments, json!({}))
    }

    /// As [`Arena::start_call`], with `_meta`.
    pub(crate) fn start_call_with_meta(&mut self, tool: &str, arguments: Value, meta: Value) -> u64 {
        let plugin = tool.split('_').next().expect("a name");
        self.start_request(plugin, "tools/call", json!({"name": tool, "arguments": arguments, "_meta": meta}))
    }

    /// Starts a request to that plugin without waiting.
    pub(crate) fn start_request(&mut self, plugin: &str, method: &str, params: Value) -> u64 {
        let at = Instant::now();
        let id = self.client.post(method, params);
        self.open.insert(id, Pending { at, of: Of::Plugin(plugin.to_owned()) });
        id
    }

    pub(crate) fn answer(&mut self, id: u64) -> Answer {
        self.until(&format!("request {id} is answered"), |arena| arena.answered.contains_key(&id));
        self.answered.remove(&id).expect("just seen")
    }

    /// Calls a tool and returns its result.
    pub(crate) fn call(&mut self, tool: &str, arguments: Value) -> Value {
        let id = self.start_call(tool, arguments);
        let mut answer = self.answer(id);
        assert!(answer.message.get("error").is_none(), "{tool} failed: {}", answer.message);
        answer.message["result"].take()
    }

    /// The error of a refused request.
    pub(crate) fn refusal(&mut self, id: u64) -> Value {
        let mut answer = self.answer(id);
        assert!(answer.message.get("error").is_some(), "not refused: {}", answer.message);
        answer.message["error"].take()
    }

    /// Calls a tool, which must return that text.
    pub(crate) fn expect_text(&mut self, tool: &str, arguments: Value, text: &str) {
        let result = self.call(tool, arguments);
        assert_eq!(first_text(&result), text, "{tool}");
    }

    /// Calls a tool, which must fail with that fault.
    pub(crate) fn fault(&mut self, tool: &str, arguments: Value, code: &str) {
        let id = self.start_call(tool, arguments);
        self.faulted(id, &[code]);
    }

    /// Calls tools of that guest, each of which must fail with its code. The guest is loaded under
    /// several names, since a plugin is quarantined after five faults.
    pub(crate) fn faults(&mut self, guest: &[u8], calls: &[(&str, &str)]) {
        let calls: Vec<(&str, Value, &str)> = calls.iter().map(|(tool, code)| (*tool, json!({}), *code)).collect();
        self.faults_with(guest, &calls);
    }

    /// As [`Arena::faults`], with arguments.
    pub(crate) fn faults_with(&mut self, guest: &[u8], calls: &[(&str, Value, &str)]) {
        for (part, plugin) in calls.chunks(4).zip(["first", "second", "third", "fourth", "fifth"]) {
            self.loads(plugin, guest);
            for (tool, arguments, code) in part {
                self.fault(&format!("{plugin}_{tool}"), arguments.clone(), code);
            }
        }
    }

    /// Checks that a call failed as a fault of its plugin with one of those codes, and that the message
    /// is the host's own.
    pub(crate) fn faulted(&mut self, id: u64, codes: &[&str]) -> (String, Duration) {
        let answer = self.answer(id);
        let result = &answer.message["result"];
        let fault = &result["_meta"]["wharf/fault"];
        let code = fault["code"].as_str().unwrap_or("none").to_owned();
        let is_attributed = result["isError"] == true && fault["plugin"] == answer.plugin.as_str();
        assert!(is_attributed && codes.contains(&code.as_str()), "not {codes:?}: {}", answer.message);
        let text = first_text(result);
        // Messages of the engine would quote names chosen by the guest.
        let whole = result.to_string();
        let own = ["wasm", "backtrace", "call-tool", "0x", "\\u001b"].iter().all(|word| !whole.contains(word));
        assert!(own && text.contains(&answer.plugin) && text.chars().count() < 400, "{whole}");
        (code, answer.took)
    }

    /// Calls a tool, which must be stopped at that limit.
    pub(crate) fn stopped(&mut self, tool: &str, limit: Duration, code: &str) {
        let id = self.start_call(tool, json!({}));
        let (_, took) = self.faulted(id, &[code]);
        assert!(took >= limit && took < limit + SLACK, "{tool} was stopped after {took:?}, not {limit:?}");
        self.over = Some(self.over.unwrap_or_default().max(took - limit));
    }

    /// The names of all tools.
    pub(crate) fn tools(&mut self) -> Vec<String> {
        let tools = self.listed("tools");
        tools.iter().map(|tool| tool["name"].as_str().expect("a name").to_owned()).collect()
    }

    /// A complete list: `tools`, `prompts` or `resources`.
    pub(crate) fn listed(&mut self, what: &str) -> Vec<Value> {
        let (mut all, mut params) = (Vec::new(), json!({}));
        loop {
            let at = Instant::now();
            let id = self.client.post(&format!("{what}/list"), params);
            self.open.insert(id, Pending { at, of: Of::Host });
            let mut page = self.answer(id).message["result"].take();
            all.append(page[what].as_array_mut().expect("a list"));
            match page.get("nextCursor") {
                Some(cursor) => params = json!({"cursor": cursor}),
                None => return all,
            }
        }
    }

    /// Subscribes to changes of the list of tools.
    pub(crate) fn listen(&mut self) {
        let id = self.client.post("subscriptions/listen", json!({"notifications": {"toolsListChanged": true}}));
        self.until("the subscription is acknowledged", |arena| {
            arena.notifications.iter().any(|message| message["method"] == "notifications/subscriptions/acknowledged")
        });
        self.listening = Some(id);
        // Over HTTP the open stream is one more descriptor.
        self.before.files = self.before.files.max(Levels::of(self.process).files);
    }

    /// Waits until the log contains that text, and returns the log.
    pub(crate) fn log_with(&mut self, wanted: &str) -> String {
        self.until(&format!("{wanted:?} is in the log"), |arena| arena.log().contains(wanted));
        self.log()
    }

    /// The audit log so far.
    pub(crate) fn records(&mut self) -> &[Value] {
        self.audit_log.records(&self.home)
    }

    /// The last audit record about a plugin's file.
    pub(crate) fn last(&mut self, plugin: &str) -> Option<&Value> {
        let events = ["load", "swap", "reject", "remove", "hold"];
        let of_it =
            |record: &&Value| record["plugin"] == plugin && events.iter().any(|event| record["event"] == *event);
        self.records().iter().rfind(of_it)
    }

    pub(crate) fn log(&mut self) -> String {
        self.client.wire().process.log()
    }

    pub(crate) fn levels(&self) -> Levels {
        Levels::of(self.process)
    }

    pub(crate) fn before(&self) -> Levels {
        self.before
    }
}
