//! Exchanges of tokens with issuers that are slow, wrong, huge, or lead elsewhere.

use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

use serde_json::{Value, json};

use super::crafted::{Signer, set, unix};
use super::issuers::Issuer;
use super::server::Reply;
use crate::identity::{AccessGrant, Identity, SecretText};
use crate::net::http::Http;
use crate::oauth::{ExchangeSettings, Exchanges};

const TOKEN: &str = "/token";
const ACCESS: &str = "urn:ietf:params:oauth:token-type:access_token";

struct Case {
    issuer: Issuer,
    exchanges: Arc<Exchanges>,
    settings: ExchangeSettings,
}

async fn start() -> Case {
    let issuer = Issuer::start(&set(&[&Signer::ed25519("k")])).await;
    let exchanges = Exchanges::with(issuer.verifier(), Http::direct());
    let settings = ExchangeSettings {
        issuer: issuer.url().to_owned(),
        endpoint: Some(format!("{}{TOKEN}", issuer.url())),
        client_id: "wharf".into(),
        client_secret: "s3".into(),
        audience: Some("notes".into()),
        resource: None,
        scope: Some("a b".into()),
    };
    Case { issuer, exchanges, settings }
}

impl Case {
    fn user(&self, subject: &str, token: &str, seconds: u64) -> Identity {
        let expires = UNIX_EPOCH + Duration::from_secs(unix(seconds.cast_signed()).cast_unsigned());
        let grant = AccessGrant { expires, ..AccessGrant::of(self.issuer.url(), subject) };
        Identity::subject(grant).with_token(SecretText::new(token.into()))
    }

    fn answer(&self, members: Value) {
        self.issuer.0.reply(TOKEN, Reply::json(members));
    }

    async fn ask(&self, of: &Identity) -> Result<String, String> {
        self.exchanges.token(&self.settings, of).await.map(|token| token.expose().to_owned())
    }

    fn count(&self) -> usize {
        self.issuer.0.count(TOKEN)
    }
}

fn good(token: &str) -> Value {
    json!({"access_token": token, "issued_token_type": ACCESS, "token_type": "Bearer", "expires_in": 100})
}

#[tokio::test]
async fn many_calls_of_one_user_cause_one_exchange() {
    let case = start().await;
    case.answer(good("for-notes"));
    let alice = case.user("alice", "alice's", 3600);
    let all = futures_util::future::join_all((0..1000).map(|_| case.ask(&alice))).await;
    assert!(all.iter().all(|answer| answer.as_deref() == Ok("for-notes")));
    let [request] = &case.issuer.0.requests(TOKEN)[..] else { panic!("one request") };
    assert!(request.starts_with("POST /token ") && request.contains("Basic d2hhcmY6czM=\r\n"), "{request}");
    let form = "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Atoken-exchange&subject_token=alice%27s\
        &subject_token_type=urn%3Aietf%3Aparams%3Aoauth%3Atoken-type%3Aaccess_token\
        &requested_token_type=urn%3Aietf%3Aparams%3Aoauth%3Atoken-type%3Aaccess_token&audience=notes&scope=a%20b";
    assert!(request.ends_with(form), "{request}");
    // Another token of hers, and another exchange of the same one.
    assert!(case.ask(&case.user("alice", "other", 3600)).await.is_ok());
    let other = ExchangeSettings { audience: Some("mail".into()), ..case.settings.clone() };
    assert!(case.exchanges.token(&other, &alice).await.is_ok());
    assert_eq!(case.count(), 3);
}

#[tokio::test]
async fn a_token_is_used_while_it_and_the_users_own_hold() {
    let case = start().await;
    case.answer(good("one"));
    let (long, short) = (case.user("alice", "long", 3600), case.user("bob", "short", 25));
    assert!(case.ask(&long).await.is_ok() && case.ask(&short).await.is_ok());
    case.answer(good("two"));
    case.exchanges.later(Duration::from_secs(20));
    assert_eq!((case.ask(&long).await.as_deref(), case.ask(&short).await.as_deref()), (Ok("one"), Ok("one")));
    case.exchanges.later(Duration::from_secs(5));
    assert_eq!((case.ask(&long).await.as_deref(), case.ask(&short).await.as_deref()), (Ok("one"), Ok("two")));
    case.exchanges.later(Duration::from_secs(70));
    assert_eq!(case.ask(&long).await.as_deref(), Ok("two"), "nine tenths of its time are over");
    // Of an expired one nothing is kept.
    let expired = case.user("carol", "expired", 0);
    let before = case.count();
    assert!(case.ask(&expired).await.is_ok() && case.ask(&expired).await.is_ok());
    assert_eq!(case.count(), before + 2);
}

/// The service would have what opens this server.
#[tokio::test]
async fn the_users_own_token_is_not_passed_on() {
    let case = start().await;
    case.answer(good("alice's"));
    let why = case.ask(&case.user("alice", "alice's", 3600)).await.expect_err("it is her own");
    assert!(why.contains("gave back the user's own token") && !why.contains("alice's"), "{why}");
    assert!(case.ask(&case.user("bob", "bob's", 3600)).await.is_ok());
}

#[tokio::test]
async fn what_is_no_such_token_is_refused_and_not_asked_for_again_soon() {
    let case = start().await;
    let long = json!("x".repeat(100_000)).to_string();
    let location = format!("location: {}/elsewhere\r\n", case.issuer.url());
    case.issuer.0.reply("/elsewhere", Reply::json(good("stolen")));
    let refused = |status: u16, body: &str| {
        let length = body.len();
        Reply::Raw(format!("HTTP/1.1 {status} X\r\ncontent-length: {length}\r\n\r\n{body}").into_bytes())
    };
    for (number, (reply, why)) in [
        (refused(400, r#"{"error":"invalid_target"}"#), "answered 400 Bad Request, invalid_target"),
        (refused(401, r#"{"error":"eyJ.to.ken"}"#), "answered 401 Unauthorized"),
        (Reply::Status(500, String::new()), "answered 500"),
        (Reply::Status(302, location.clone()), "answered 302"),
        (Reply::Status(307, location), "answered 307"),
        (Reply::json(long), "has more than 65536 bytes"),
        (Reply::json("[]"), "did not answer with an object"),
        (Reply::json("{"), "did not answer with an object"),
        (Reply::Raw(b"HTTP/1.1 200 X\r\ncontent-length: 10\r\n\r\n{".to_vec()), "cannot be had now"),
        (Reply::json(json!({"access_token": "t", "token_type": "Bearer"})), "of another kind"),
        (
            Reply::json(json!({"access_token": "t", "token_type": "Bearer",
                "issued_token_type": "urn:ietf:params:oauth:token-type:refresh_token"})),
            "of another kind",
        ),
        (Reply::Silence, "did not answer in time"),
    ]
    .into_iter()
    .enumerate()
    {
        case.issuer.0.reply(TOKEN, reply);
        let user = case.user("alice", &number.to_string(), 3600);
        let before = case.count();
        let answer = case.ask(&user).await.expect_err(why);
        assert!(answer.contains(why) && !answer.contains("eyJ"), "{answer}");
        assert!(!answer.split(": ").next().unwrap_or_default().contains("127.0.0.1"), "callers see this: {answer}");
        // Not at once; later it may be another answer.
        assert_eq!(case.ask(&user).await, Err(answer));
        assert_eq!(case.count(), before + 1, "{why}");
        case.answer(good("now"));
        case.exchanges.later(Duration::from_secs(3));
        assert_eq!(case.ask(&user).await.as_deref(), Ok("now"));
    }
    assert_eq!(case.issuer.0.count("/elsewhere"), 0, "redirects are not followed");
}

#[tokio::test]
async fn who_has_no_token_of_that_issuer_gets_none() {
    let case = start().await;
    case.answer(good("t"));
    let alice = case.user("alice", "a", 3600);
    let elsewhere = ExchangeSettings { issuer: "https://other.example".into(), ..case.settings.clone() };
    assert!(case.exchanges.token(&elsewhere, &alice).await.is_err_and(|why| why.contains("of another issuer")));
    let mut without = alice;
    without.token = None;
    for nobody in [Identity::local(), Identity::token("ci"), without] {
        assert!(case.ask(&nobody).await.is_err_and(|why| why.contains("only for users with an access token")));
    }
    assert_eq!(case.count(), 0);
}

#[tokio::test]
async fn the_metadata_says_where_tokens_are_exchanged() {
    let mut case = start().await;
    case.settings.endpoint = None;
    case.answer(good("t"));
    let alice = case.user("alice", "a", 3600);
    let why = case.ask(&alice).await.expect_err("it does not say");
    assert!(why.contains("it is not known where"), "{why}");
    let url = case.issuer.url().to_owned();
    let metadata = json!({"issuer": url, "jwks_uri": format!("{url}/keys"), "token_endpoint": format!("{url}{TOKEN}")});
    case.issuer.0.reply("/.well-known/oauth-authorization-server", Reply::json(metadata));
    let exchanges = Exchanges::with(case.issuer.verifier(), Http::direct());
    assert!(exchanges.token(&case.settings, &alice).await.is_ok());
}

#[tokio::test]
async fn one_user_does_not_keep_others_from_their_exchanges() {
    let case = start().await;
    case.issuer.0.reply(TOKEN, Reply::Silence);
    let waiting: Vec<_> = (0..8).map(|number| case.user("alice", &number.to_string(), 3600)).collect();
    let asked = waiting.iter().map(|user| case.ask(user));
    let others = async {
        // All of hers are there.
        let sent = async {
            while case.count() < 8 {
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(Duration::from_mins(1), sent).await.expect("they are sent");
        let more = case.ask(&case.user("alice", "more", 3600)).await;
        assert!(more.is_err_and(|why| why.contains("too many exchanges wait")));
        case.answer(good("his"));
        assert_eq!(case.ask(&case.user("bob", "b", 3600)).await.as_deref(), Ok("his"));
    };
    // In that order: those of alice begin first.
    let (all, ()) = tokio::join!(futures_util::future::join_all(asked), others);
    assert!(all.iter().all(Result::is_err));
    assert_eq!(case.exchanges.count().1, 0, "none is left");
}
