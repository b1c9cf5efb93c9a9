//! Pages of MCP Apps: one as it should be, and what must be noticed or refused.

use std::hash::{BuildHasher as _, RandomState};

use wharf_plugin::*;

struct Pages;

const MEDIA_TYPE: &str = "text/html;profile=mcp-app";
const HTML: &str = "<!doctype html>\n<title>A page</title>\n<p>here";
/// Its policy would be another one than it says.
const ESCAPING: &str = "https://a.example; script-src *";

impl Plugin for Pages {
    fn tools(&self, tools: &mut Tools<'_>) {
        let good = Page::new("ui://pages/good.html", HTML)
            .title("A page")
            .connects_to(["https://api.example.org", "https://other.example.org"])
            .permissions(["camera"]);
        tools.add("good", "Is shown on a page", done).page(good);
        tools.add("fresh", "Is for that page alone", done).app_only();
        tools.add("change", "Changes a page", |_, _: NoArguments| {
            Store::open()?.set("changed", &true)?;
            Ok("done")
        });
        let wrong = [
            ("lost", json!({ "resourceUri": "ui://pages/none.html" })),
            ("web", json!({ "resourceUri": "https://pages.example/none.html" })),
            ("odd", json!({ "visibility": ["everyone"] })),
        ];
        for (name, ui) in wrong {
            tools.add(name, "Says something wrong of a page", done).meta(&json!({ "ui": ui }));
        }
    }

    fn resources(&self) -> Result<Vec<Resource>> {
        let listed = |uri: &str| Resource::new(uri, "page").mime_type(MEDIA_TYPE);
        Ok(vec![
            listed("ui://pages/escaping.html").meta(&json!({ "ui": { "csp": { "connectDomains": [ESCAPING] } } })),
            listed("ui://pages/late.html"),
            listed("ui://pages/changing.html").meta(&json!({ "ui": { "permissions": { "nose": {} } } })),
            listed("ui://pages/stored.html"),
            listed("ui://pages/plain.html").mime_type("text/html"),
            listed("ui://elsewhere/page.html"),
        ])
    }

    fn read_resource(&self, uri: &str, _: &Call) -> Result<ReadResult> {
        let page = |html: &str| ResourceContents::text(uri, html).mime_type(MEDIA_TYPE);
        match uri {
            "ui://pages/late.html" => {
                Ok(page(HTML).meta(&json!({ "ui": { "csp": { "frameDomains": [ESCAPING] } } })).into())
            }
            "ui://pages/changing.html" => Ok(page(&format!("{HTML} {}", RandomState::new().hash_one(0))).into()),
            "ui://pages/stored.html" => {
                let changed = Store::open().and_then(|store| store.get::<bool>("changed"));
                Ok(page(&format!("{HTML} {}", changed.ok().flatten().is_some())).into())
            }
            _ => Ok(page(HTML).into()),
        }
    }
}

export!(Pages: tools, resources);

fn done(_: &Call, _: NoArguments) -> Result<&'static str> {
    Ok("done")
}
