package wharf

import (
	"encoding/json"
	"strings"

	types "wharf-plugin/internal/abi/wharf_plugin_types"
	wit "wharf-plugin/internal/wit/types"
)

// Role is the author or the audience.
type Role uint8

const (
	// User is the user.
	User = Role(types.Role_User)
	// Assistant is the model.
	Assistant = Role(types.Role_Assistant)
)

// Content is one piece of a tool's result or of a prompt. Text, Image, Audio, Embedded and
// Link create it; the host converts it for older clients.
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

// Annotations are hints for clients. Their zero value has none.
type Annotations struct {
	// Audience is the intended audience.
	Audience []Role
	// Priority is the importance, from 0 to 1; see Ptr.
	Priority *float64
	// LastModified is a time in ISO 8601.
	LastModified string
}

// Ptr returns a pointer to a value, for optional fields.
func Ptr[T any](value T) *T { return &value }

// Text returns a text.
func Text(text string) Content { return Content{kind: types.Content_Text, text: text} }

// Image returns an image: its bytes, unencoded, and their media type.
func Image(data []byte, mimeType string) Content {
	return Content{kind: types.Content_Image, data: data, mimeType: mimeType}
}

// Audio returns audio: its bytes, unencoded, and their media type.
func Audio(data []byte, mimeType string) Content {
	return Content{kind: types.Content_Audio, data: data, mimeType: mimeType}
}

// Embedded returns a resource with its contents.
func Embedded(contents Contents) Content {
	return Content{kind: types.Content_Embedded, embedded: contents}
}

// Link returns a link to a resource, which the client may read.
func Link(resource Resource) Content { return Content{kind: types.Content_Link, link: resource} }

// Annotated returns the content with hints.
func (c Content) Annotated(annotations Annotations) Content {
	c.annotations = annotations
	return c
}

// WithMeta returns the content with `_meta`: a value that encodes to a JSON object.
func (c Content) WithMeta(meta any) Content {
	c.meta = meta
	return c
}

// AsText returns the text, if this is text.
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

// Icon is an icon for a list entry.
type Icon struct {
	// Src is an `https:` or `data:` URI; the host drops anything else.
	Src      string
	MIMEType string
	// Sizes are the sizes that it suits, WxH in pixels, or `any`.
	Sizes []string
	Theme Theme
}

// Theme is the background that an icon is designed for.
type Theme uint8

const (
	// AnyTheme is the default.
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

// ABIValid returns valid UTF-8: the host accepts nothing else, and would end the call. Invalid
// bytes become U+FFFD. It is for the packages of this module.
func ABIValid(text string) string { return strings.ToValidUTF8(text, "\uFFFD") }

// ABIText returns a text, absent if it is empty. It is for the packages of this module.
func ABIText(text string) wit.Option[string] {
	if text == "" {
		return wit.None[string]()
	}
	return wit.Some(ABIValid(text))
}

// ABIMeta encodes a value as JSON; omitted if that fails. It is for the packages
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
