package wharf

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"

	wit "wharf-plugin/internal/wit/types"
)

// Page is a page in which chat clients show the results of tools: a Page of package resources.
type Page interface {
	// ABIPage is for the packages of this module.
	ABIPage() (ABIShown, error)
}

// ABIShown is what a page is made of. It is for the packages of this module.
type ABIShown struct {
	Resource Resource
	Document string
}

// Page sets the page in which chat clients show its results. The page gets the whole result; the
// model gets its content. Several tools may have the same page.
//
//	face := resources.Page{URI: "ui://dice/face.html", HTML: "<!doctype html><p id=face></p>"}
//	wharf.Tool("roll", "Rolls a die.", roll).Page(face)
func (e *Entry) Page(page Page) *Entry {
	e.page = page
	return e
}

// AppOnly says that it is only for pages: chat clients do not offer it to the model. Other
// clients may, so this protects nothing.
func (e *Entry) AppOnly() *Entry {
	e.appOnly = true
	return e
}

// ABIPages returns the pages of the tools, each once. It is for the packages of this module.
func ABIPages() ([]ABIShown, error) {
	var pages []ABIShown
	for _, entry := range entries {
		if entry.page == nil {
			continue
		}
		page, err := entry.page.ABIPage()
		if err != nil {
			return nil, fmt.Errorf("tool %s: its page: %w", entry.name, err)
		}
		uri := page.Resource.URI
		at := slices.IndexFunc(pages, func(other ABIShown) bool { return other.Resource.URI == uri })
		if at < 0 {
			pages = append(pages, page)
		} else if !reflect.DeepEqual(pages[at], page) {
			return nil, fmt.Errorf("tool %s: another page has the URI %s", entry.name, uri)
		}
	}
	return pages, nil
}

// Its `_meta` with what it says of pages.
func (e *Entry) abiMeta() (wit.Option[string], error) {
	if e.page == nil && !e.appOnly {
		return ABIMeta(e.meta), nil
	}
	meta, err := object(e.meta)
	if err != nil {
		return wit.None[string](), fmt.Errorf("its meta: %w", err)
	}
	ui, is := meta["ui"].(map[string]any)
	if !is {
		ui = map[string]any{}
	}
	if e.page != nil {
		page, err := e.page.ABIPage()
		if err != nil {
			return wit.None[string](), fmt.Errorf("its page: %w", err)
		}
		ui["resourceUri"] = page.Resource.URI
	}
	if e.appOnly {
		ui["visibility"] = []string{"app"}
	}
	meta["ui"] = ui
	return ABIMeta(meta), nil
}

// The members of what a value encodes to; none of nil.
func object(value any) (map[string]any, error) {
	members := map[string]any{}
	if value == nil {
		return members, nil
	}
	text, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	read := json.NewDecoder(bytes.NewReader(text))
	// Keeps what a float64 would round.
	read.UseNumber()
	if read.Decode(&members) != nil || members == nil {
		return nil, errors.New("it is not a JSON object")
	}
	return members, nil
}
