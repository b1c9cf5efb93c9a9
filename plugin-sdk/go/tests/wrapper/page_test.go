package wrapper

import (
	"encoding/json"
	"os"
	"testing"

	wharf "wharf-plugin"
	"wharf-plugin/resources"
	"wharf-plugin/wharftest"
)

var face = resources.Page{
	URI:         "ui://dice/face.html",
	HTML:        "<!doctype html><p id=face><script>show()</script>",
	Title:       "A die",
	ConnectsTo:  []string{"https://api.example.org"},
	Permissions: []string{"clipboardWrite"},
}

func rolled(*wharf.Call, struct{}) (string, error) { return "4", nil }

func init() {
	meta := map[string]any{"example.org/sides": uint64(1<<53 + 1), "ui": map[string]any{"visibility": []string{"model"}}}
	wharf.Tool("roll", "Rolls a die.", rolled).Page(face).Meta(meta)
	wharf.Tool("roll_again", "Rolls it again.", rolled).Page(&face)
	wharf.Tool("roll_alone", "Rolls it in a page of its own.", rolled).Page(resources.Page{
		URI: "ui://dice/own.html", HTML: "<p>", NoBorder: true, OwnScript: true, LoadsFrom: []string{"https://*.example.org"},
	})
	wharf.Tool("roll_plain", "Rolls it without a script of the page.", rolled).Page(resources.Page{URI: "ui://dice/plain.html", HTML: "<p>"})
	wharf.Tool("fresh", "Rolls it for the page.", rolled).AppOnly()
}

func TestToolsSayWhichPageTheyHave(t *testing.T) {
	tools, err := wharftest.Tools()
	if err != nil {
		t.Fatal(err)
	}
	meta := map[string]string{}
	for _, tool := range tools {
		meta[tool.Name] = tool.Meta
	}
	is(t, meta["roll"], `{"example.org/sides":9007199254740993,"ui":{"resourceUri":"ui://dice/face.html","visibility":["model"]}}`)
	is(t, meta["roll_again"], `{"ui":{"resourceUri":"ui://dice/face.html"}}`)
	is(t, meta["fresh"], `{"ui":{"visibility":["app"]}}`)
	is(t, meta["greet"], "")
}

func TestPagesAreResourcesWithTheScriptBeforeTheirOwn(t *testing.T) {
	script, err := os.ReadFile("../../resources/page.js")
	if err != nil {
		t.Fatal(err)
	}
	added := "<script>" + string(script) + "</script>\n"
	for _, want := range []struct{ uri, text, meta string }{
		{
			face.URI,
			"<!doctype html><p id=face>" + added + "<script>show()</script>",
			`{"ui":{"csp":{"connectDomains":["https://api.example.org"]},"permissions":{"clipboardWrite":{}},"prefersBorder":true}}`,
		},
		{"ui://dice/own.html", "<p>", `{"ui":{"csp":{"resourceDomains":["https://*.example.org"]},"prefersBorder":false}}`},
		{"ui://dice/plain.html", "<p>" + added, `{"ui":{"prefersBorder":true}}`},
	} {
		read, err := wharftest.Read(want.uri)
		if err != nil {
			t.Fatal(err)
		}
		contents := read.Contents[0]
		meta, _ := json.Marshal(contents.Meta)
		is(t, contents.Text, want.text)
		is(t, contents.MIMEType, "text/html;profile=mcp-app")
		is(t, string(meta), want.meta)
	}
	listed, err := wharftest.Resources()
	if err != nil {
		t.Fatal(err)
	}
	// Each once, before the others.
	var uris []string
	for _, resource := range listed {
		uris = append(uris, resource.URI)
	}
	is(t, uris[0]+" "+uris[1]+" "+uris[2]+" "+uris[3], "ui://dice/face.html ui://dice/own.html ui://dice/plain.html note://1")
	is(t, listed[0].Name+", "+listed[0].Title+", "+listed[0].MIMEType, "face.html, A die, text/html;profile=mcp-app")
}

func TestWhatIsNoPageIsRefused(t *testing.T) {
	wrong := wharf.Tool("wrong", "Has no proper page.", rolled)
	// Nothing removes a tool; without a page nothing is wrong with it.
	defer func() { wrong.Page(nil) }()
	other, border := face, face
	other.HTML, border.NoBorder = "<p>", true
	for why, page := range map[string]wharf.Page{
		"tool wrong: its page: it has no URI":                        resources.Page{HTML: "<p>"},
		"tool wrong: its page: it has no HTML: ui://dice/empty.html": resources.Page{URI: "ui://dice/empty.html"},
		"tool wrong: another page has the URI ui://dice/face.html":   other,
	} {
		wrong.Page(page)
		_, err := wharftest.Tools()
		is(t, err.Error(), why)
		_, err = wharftest.Resources()
		is(t, err.Error(), why)
	}
	wrong.Page(border)
	if _, err := wharftest.Tools(); err == nil {
		t.Error("two pages have one URI")
	}
	wrong.Page(face).Meta("text")
	_, err := wharftest.Tools()
	is(t, err.Error(), "tool wrong: its meta: it is not a JSON object")
	wrong.Meta(nil).Page(resources.Page{URI: "note://1", HTML: "<p>"})
	_, err = wharftest.Resources()
	is(t, err.Error(), "another resource has the URI of the page: note://1")
}
