package wharf

import (
	"encoding/json"
	"strings"

	types "wharf-plugin/internal/abi/wharf_plugin_types"
	wit "wharf-plugin/internal/wit/types"
)

// Role is who speaks or is addressed.
type Role uint8

const (
	// User is the person.
	User = Role(types.Role_User)
	// Assistant is the model.
	Assistant = Role(types.Role_Assistant)
)

// Content is one piece of a tool's result or of a prompt. Text, Image, Audio, Embedded and
// Link make it; how each looks to an old client is the host's affair.
type Content struct {
	kind        uint8
	text        string
	data        []byte
	mimeType    string
	embedded    Contents
	link        Resource
	annotations Annotations
	meta        any
}

// Annotations are hints for whoever shows it. Their zero value says nothing.
type Annotations struct {
	// Audience is whom it is meant for.
	Audience []Role
	// Priority is how much it matters, from 0 to 1, by Ptr.
	Priority *float64
	// LastModified is a moment in ISO 8601.
	LastModified string
}

// Ptr is a pointer to a value, for what may be absent.
func Ptr[T any](value T) *T { return &value }

// Text is text.
func Text(text string) Content { return Content{kind: types.Content_Text, text: text} }

// Image is a picture: its bytes as they are, and their media type.
func Image(data []byte, mimeType string) Content {
	return Content{kind: types.Content_Image, data: data, mimeType: mimeType}
}

// Audio is sound: its bytes as they are, and their media type.
func Audio(data []byte, mimeType string) Content {
	return Content{kind: types.Content_Audio, data: data, mimeType: mimeType}
}

// Embedded is a resource with what is in it.
func Embedded(contents Contents) Content {
	return Content{kind: types.Content_Embedded, embedded: contents}
}

// Link is a resource that the client may read if it wants to.
func Link(resource Resource) Content { return Content{kind: types.Content_Link, link: resource} }

// Annotated is the content with hints.
func (c Content) Annotated(annotations Annotations) Content {
	c.annotations = annotations
	return c
}

// WithMeta is the content with `_meta`: something that becomes a JSON object.
func (c Content) WithMeta(meta any) Content {
	c.meta = meta
	return c
}

// AsText is the text, if this is text.
func (c Content) AsText() (string, bool) { return c.text, c.kind == types.Content_Text }

// ABI is for the packages of this module.
func (c Content) ABI() types.Content {
	annotations, meta := c.annotations.abi(), ABIMeta(c.meta)
	switch c.kind {
	case types.Content_Image, types.Content_Audio:
		media := types.MediaContent{Data: c.data, MimeType: c.mimeType, Annotations: annotations, Meta: meta}
		if c.kind == types.Content_Image {
			return types.MakeContentImage(media)
		}
		return types.MakeContentAudio(media)
	case types.Content_Embedded:
		embedded := types.EmbeddedResource{Contents: c.embedded.ABI(), Annotations: annotations, Meta: meta}
		return types.MakeContentEmbedded(embedded)
	case types.Content_Link:
		link := c.link.ABI()
		if annotations.IsSome() {
			link.Annotations = annotations
		}
		if meta.IsSome() {
			link.Meta = meta
		}
		return types.MakeContentLink(link)
	default:
		return types.MakeContentText(types.TextContent{Text: ABIValid(c.text), Annotations: annotations, Meta: meta})
	}
}

func (a Annotations) abi() wit.Option[types.Annotations] {
	if a.Audience == nil && a.Priority == nil && a.LastModified == "" {
		return wit.None[types.Annotations]()
	}
	raw := types.Annotations{Priority: option(a.Priority), LastModified: ABIText(a.LastModified)}
	for _, role := range a.Audience {
		raw.Audience = append(raw.Audience, uint8(role))
	}
	return wit.Some(raw)
}

// Icon is a picture for a list entry.
type Icon struct {
	// Src is an `https:` or `data:` URI; the host drops anything else.
	Src      string
	MIMEType string
	// Sizes are what it is good for, WxH in pixels, or `any`.
	Sizes []string
	Theme Theme
}

// Theme is the background that an icon is drawn for.
type Theme uint8

const (
	// AnyTheme says nothing.
	AnyTheme Theme = iota
	// Light is a light background.
	Light
	// Dark is a dark background.
	Dark
)

// ABIIcons is for the packages of this module.
func ABIIcons(icons []Icon) []types.Icon {
	var raw []types.Icon
	for _, icon := range icons {
		theme := wit.None[types.IconTheme]()
		if icon.Theme != AnyTheme {
			theme = wit.Some(types.IconTheme(icon.Theme - Light))
		}
		raw = append(raw, types.Icon{Src: icon.Src, MimeType: ABIText(icon.MIMEType), Sizes: icon.Sizes, Theme: theme})
	}
	return raw
}

// ABIValid is a text in UTF-8: the host takes no other, and would end the call. What is not
// becomes U+FFFD. It is for the packages of this module.
func ABIValid(text string) string { return strings.ToValidUTF8(text, "\uFFFD") }

// ABIText is a text that is absent if it is empty. It is for the packages of this module.
func ABIText(text string) wit.Option[string] {
	if text == "" {
		return wit.None[string]()
	}
	return wit.Some(ABIValid(text))
}

// ABIMeta is a value as JSON; what does not become JSON is left out. It is for the packages
// of this module.
func ABIMeta(meta any) wit.Option[string] {
	if meta == nil {
		return wit.None[string]()
	}
	text, err := json.Marshal(meta)
	if err != nil {
		return wit.None[string]()
	}
	return wit.Some(string(text))
}

func option[T any](value *T) wit.Option[T] {
	if value == nil {
		return wit.None[T]()
	}
	return wit.Some(*value)
}
