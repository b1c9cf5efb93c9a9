package wharf

import (
	types "wharf-plugin/internal/abi/wharf_plugin_types"
	wit "wharf-plugin/internal/wit/types"
)

// Resource describes a resource: an entry of a list or a link. Package resources serves them.
type Resource struct {
	// URI is as in RFC 3986.
	URI string
	// Name is short; Title is the display name; Description is for the model.
	Name, Title, Description string
	MIMEType                 string
	// Size is in bytes before any encoding; see Ptr.
	Size        *uint64
	Annotations Annotations
	Icons       []Icon
	// Meta must encode to a JSON object.
	Meta any
}

// Contents is the contents of a resource: text, or bytes if there are any.
type Contents struct {
	URI, MIMEType string
	Text          string
	// Bytes are unencoded; the host encodes them.
	Bytes []byte
	// Meta must encode to a JSON object.
	Meta any
}

// ABI is for the packages of this module.
func (r Resource) ABI() types.ResourceDescription {
	return types.ResourceDescription{
		Uri:         r.URI,
		Name:        r.Name,
		Title:       ABIText(r.Title),
		Description: ABIText(r.Description),
		MimeType:    ABIText(r.MIMEType),
		Size:        option(r.Size),
		Annotations: r.Annotations.abi(),
		Icons:       ABIIcons(r.Icons),
		Meta:        ABIMeta(r.Meta),
	}
}

// ABI is for the packages of this module.
func (c Contents) ABI() types.ResourceContents {
	body := types.MakeResourceBodyText(ABIValid(c.Text))
	if c.Bytes != nil {
		body = types.MakeResourceBodyBlob(c.Bytes)
	}
	return types.ResourceContents{Uri: c.URI, MimeType: ABIText(c.MIMEType), Body: body, Meta: ABIMeta(c.Meta)}
}

// ABIAnnotations is for the packages of this module.
func ABIAnnotations(annotations Annotations) wit.Option[types.Annotations] { return annotations.abi() }
