// Package resources serves resources that a client can read by URI. Importing it exports the
// interface.
//
//	resources.Add(wharf.Resource{URI: "note://1", Name: "shopping", MIMEType: "text/plain"},
//		func(*wharf.Call) (resources.Result, error) {
//			return resources.Text("note://1", "milk, bread"), nil
//		})
package resources

import (
	"fmt"
	"time"

	wharf "wharf-plugin"
	"wharf-plugin/internal/abi/wharf_plugin_resources"
	types "wharf-plugin/internal/abi/wharf_plugin_types"
	wit "wharf-plugin/internal/wit/types"
)

// Template is a family of resources.
type Template struct {
	// URITemplate is as in RFC 6570.
	URITemplate string
	// Name is short; Title is the display name; Description is for the model.
	Name, Title, Description string
	MIMEType                 string
	Annotations              wharf.Annotations
	Icons                    []wharf.Icon
	// Meta must encode to a JSON object.
	Meta any
}

// Result is the contents of a resource; several if the URI identifies a collection.
type Result struct {
	Contents []wharf.Contents
	// FreshFor is how long it may be cached, a day at most; 0 is not at all.
	FreshFor time.Duration
	// Public means that it is the same for all users, so that shared caches may keep
	// it.
	Public bool
	// Meta must encode to a JSON object.
	Meta any
}

// Text returns a result with one text.
func Text(uri, text string) Result {
	return Result{Contents: []wharf.Contents{{URI: uri, Text: text}}}
}

type fixed struct {
	resource wharf.Resource
	read     func(*wharf.Call) (Result, error)
}

var (
	resources []fixed
	templates []Template
	listMore  func() ([]wharf.Resource, error)
	readMore  func(*wharf.Call, string) (Result, error)
)

// Add adds a resource.
func Add(resource wharf.Resource, read func(*wharf.Call) (Result, error)) {
	resources = append(resources, fixed{resource, read})
}

// AddTemplate adds a family of resources. Read reads them.
func AddTemplate(template Template) { templates = append(templates, template) }

// List sets a function that lists further resources, called when the plugin is loaded and
// after wharf.ListChanged. An error during loading refuses the plugin. Read reads them.
func List(list func() ([]wharf.Resource, error)) { listMore = list }

// Read sets a function that reads the URIs that Add did not add; it returns wharf.ErrNotFound
// for a URI that does not exist.
func Read(read func(call *wharf.Call, uri string) (Result, error)) { readMore = read }

// The pages of the tools before the others.
func list() (all []types.ResourceDescription, err error) {
	defer wharf.ABIGuard(&err)
	pages, err := wharf.ABIPages()
	if err != nil {
		return nil, err
	}
	for _, page := range pages {
		all = append(all, page.Resource.ABI())
	}
	var others []wharf.Resource
	for _, entry := range resources {
		others = append(others, entry.resource)
	}
	if listMore != nil {
		more, err := listMore()
		if err != nil {
			return nil, err
		}
		others = append(others, more...)
	}
	for _, resource := range others {
		if _, taken := findPage(resource.URI); taken {
			return nil, fmt.Errorf("another resource has the URI of the page: %s", resource.URI)
		}
		all = append(all, resource.ABI())
	}
	return all, nil
}

func read(call *wharf.Call, uri string) (result Result, err error) {
	defer wharf.ABIGuard(&err)
	if page, found := findPage(uri); found {
		return readPage(page), nil
	}
	for _, entry := range resources {
		if entry.resource.URI == uri {
			return entry.read(call)
		}
	}
	if readMore == nil {
		return result, wharf.ErrNotFound
	}
	return readMore(call, uri)
}

func exportListResources() wit.Result[[]types.ResourceDescription, string] {
	all, err := list()
	if err != nil {
		return wit.Err[[]types.ResourceDescription, string](err.Error())
	}
	return wit.Ok[[]types.ResourceDescription, string](all)
}

func exportListResourceTemplates() wit.Result[[]wharf_plugin_resources.ResourceTemplate, string] {
	var all []wharf_plugin_resources.ResourceTemplate
	for _, template := range templates {
		all = append(all, wharf_plugin_resources.ResourceTemplate{
			UriTemplate: template.URITemplate,
			Name:        template.Name,
			Title:       wharf.ABIText(template.Title),
			Description: wharf.ABIText(template.Description),
			MimeType:    wharf.ABIText(template.MIMEType),
			Annotations: wharf.ABIAnnotations(template.Annotations),
			Icons:       wharf.ABIIcons(template.Icons),
			Meta:        wharf.ABIMeta(template.Meta),
		})
	}
	return wit.Ok[[]wharf_plugin_resources.ResourceTemplate, string](all)
}

func exportReadResource(uri string, context types.CallContext) wit.Result[wharf_plugin_resources.ReadOutcome, types.CallError] {
	type outcome = wharf_plugin_resources.ReadOutcome
	call := wharf.ABICall(context)
	result, err := read(call, uri)
	if err == nil {
		return wit.Ok[outcome, types.CallError](wharf_plugin_resources.MakeReadOutcomeComplete(result.abi()))
	}
	required, failure := wharf.ABISettle(call, err)
	if failure != nil {
		return wit.Err[outcome, types.CallError](*failure)
	}
	return wit.Ok[outcome, types.CallError](wharf_plugin_resources.MakeReadOutcomeInputRequired(required))
}

func (r Result) abi() wharf_plugin_resources.ReadResult {
	raw := wharf_plugin_resources.ReadResult{Caching: wit.None[wharf_plugin_resources.Caching](), Meta: wharf.ABIMeta(r.Meta)}
	for _, contents := range r.Contents {
		raw.Contents = append(raw.Contents, contents.ABI())
	}
	if r.FreshFor > 0 {
		scope := uint8(wharf_plugin_resources.CacheScope_Private)
		if r.Public {
			scope = wharf_plugin_resources.CacheScope_Public
		}
		ttl := uint64(r.FreshFor.Milliseconds())
		raw.Caching = wit.Some(wharf_plugin_resources.Caching{TtlMs: ttl, Scope: scope})
	}
	return raw
}
