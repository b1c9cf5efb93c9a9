package resources

import (
	_ "embed"
	"errors"
	"fmt"
	"slices"
	"strings"

	wharf "wharf-plugin"
)

// The media type by which clients know a page.
const pageMIMEType = "text/html;profile=mcp-app"

// The page's side of the protocol, a copy of `plugin-sdk/src/page.js`.
//
//go:embed page.js
var pageScript string

// Page is a page that chat clients show beside the results of tools. A tool has it by its option
// Page.
//
//	wharf.Tool("roll", "Rolls a die.", roll).Page(resources.Page{
//		URI:  "ui://dice/face.html",
//		HTML: faceHTML,
//	})
//
// A client reads it once, and gives it the result of each call:
// `wharf.on("tool-result", show)` in its own script, which comes after one that the page gets here.
type Page struct {
	// URI begins with `ui://` and the plugin's name.
	URI string
	// HTML is a whole HTML5 document with everything inline.
	HTML string
	// Title is the display name.
	Title string
	// NoBorder asks the client to draw no border around it.
	NoBorder bool
	// OwnScript is for a page that brings its own script in place of the one that it gets here, such
	// as the official library's.
	OwnScript bool
	// ConnectsTo are the origins that its scripts may send requests to. The operator may refuse them,
	// as what follows.
	ConnectsTo []string
	// LoadsFrom are the origins of its images, fonts, styles and scripts.
	LoadsFrom []string
	// Permissions are what it asks the browser for: `camera`, `microphone`, `geolocation`,
	// `clipboardWrite`.
	Permissions []string
}

// ABIPage is for the packages of this module.
func (p Page) ABIPage() (wharf.ABIShown, error) {
	switch {
	case p.URI == "":
		return wharf.ABIShown{}, errors.New("it has no URI")
	case p.HTML == "":
		return wharf.ABIShown{}, fmt.Errorf("it has no HTML: %s", p.URI)
	}
	name := p.URI[strings.LastIndex(p.URI, "/")+1:]
	resource := wharf.Resource{URI: p.URI, Name: name, Title: p.Title, MIMEType: pageMIMEType, Meta: p.meta()}
	return wharf.ABIShown{Resource: resource, Document: p.document()}, nil
}

// What clients are told of it.
func (p Page) meta() any {
	ui := map[string]any{"prefersBorder": !p.NoBorder}
	csp := map[string][]string{}
	if len(p.ConnectsTo) > 0 {
		csp["connectDomains"] = p.ConnectsTo
	}
	if len(p.LoadsFrom) > 0 {
		csp["resourceDomains"] = p.LoadsFrom
	}
	if len(csp) > 0 {
		ui["csp"] = csp
	}
	if len(p.Permissions) > 0 {
		asked := map[string]struct{}{}
		for _, name := range p.Permissions {
			asked[name] = struct{}{}
		}
		ui["permissions"] = asked
	}
	return map[string]any{"ui": ui}
}

// The document with the script before the first one of its own.
func (p Page) document() string {
	if p.OwnScript {
		return p.HTML
	}
	at := strings.Index(p.HTML, "<script")
	if at < 0 {
		at = len(p.HTML)
	}
	return p.HTML[:at] + "<script>" + pageScript + "</script>\n" + p.HTML[at:]
}

// The page of that URI, if a tool has one.
func findPage(uri string) (wharf.ABIShown, bool) {
	// What is wrong with pages was said when the tools were listed.
	pages, _ := wharf.ABIPages()
	at := slices.IndexFunc(pages, func(page wharf.ABIShown) bool { return page.Resource.URI == uri })
	if at < 0 {
		return wharf.ABIShown{}, false
	}
	return pages[at], true
}

func readPage(page wharf.ABIShown) Result {
	about := page.Resource
	contents := wharf.Contents{URI: about.URI, MIMEType: about.MIMEType, Text: page.Document, Meta: about.Meta}
	return Result{Contents: []wharf.Contents{contents}}
}
