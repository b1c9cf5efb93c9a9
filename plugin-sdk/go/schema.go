package wharf

import (
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"
)

// JSON Schemas of Go's types. Used only for listing, never during a call.

type schema map[string]any

var (
	timeType = reflect.TypeFor[time.Time]()
	rawType  = reflect.TypeFor[json.RawMessage]()
	textType = reflect.TypeFor[encoding.TextMarshaler]()
)

// The schema of an object, which MCP requires at the root. Optional members of input may be
// null.
func objectSchema(kind reflect.Type, input bool) (string, error) {
	made, err := (&reader{input: input}).of(kind)
	if err != nil {
		return "", err
	}
	if made["type"] != "object" {
		return "", fmt.Errorf("%s is not an object in JSON; make it a field of a struct", kind)
	}
	text, err := json.Marshal(made)
	return string(text), err
}

// The schema of a form: flat, and optional members are not nullable.
func formSchema(kind reflect.Type) (string, error) {
	if kind.Kind() != reflect.Struct {
		return "", errors.New("a form must be a struct")
	}
	made, err := (&reader{input: true, form: true}).of(kind)
	if err != nil {
		return "", err
	}
	text, err := json.Marshal(made)
	return string(text), err
}

// members keeps the order of the fields.
type members struct{ all []member }

type member struct {
	name   string
	schema schema
}

// MarshalJSON writes an object.
func (m *members) MarshalJSON() ([]byte, error) {
	var text strings.Builder
	for i, member := range m.all {
		if i > 0 {
			text.WriteByte(',')
		}
		name, err := json.Marshal(member.name)
		if err != nil {
			return nil, err
		}
		value, err := json.Marshal(member.schema)
		if err != nil {
			return nil, err
		}
		text.Write(name)
		text.WriteByte(':')
		text.Write(value)
	}
	return []byte("{" + text.String() + "}"), nil
}

type reader struct {
	input, form bool
	// The enclosing structs, to detect recursion.
	within []reflect.Type
}

func (r *reader) of(kind reflect.Type) (schema, error) {
	switch {
	case kind == timeType:
		return schema{"type": "string", "format": "date-time"}, nil
	case kind == rawType:
		return schema{}, nil
	case kind.Kind() != reflect.Pointer && kind.Implements(textType):
		return schema{"type": "string"}, nil
	}
	switch kind.Kind() {
	case reflect.Bool, reflect.String:
		return schema{"type": kindOf(kind)}, nil
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		made := schema{"type": "integer"}
		if bits := kind.Bits(); bits < 32 {
			made["minimum"], made["maximum"] = -1<<(bits-1), 1<<(bits-1)-1
		}
		return made, nil
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		made := schema{"type": "integer", "minimum": 0}
		if bits := kind.Bits(); bits < 32 {
			made["maximum"] = 1<<bits - 1
		}
		return made, nil
	case reflect.Float32, reflect.Float64:
		return schema{"type": "number"}, nil
	case reflect.Interface:
		return schema{}, nil
	case reflect.Pointer:
		return r.nullable(kind.Elem())
	case reflect.Slice, reflect.Array:
		return r.list(kind)
	case reflect.Map:
		return r.table(kind)
	case reflect.Struct:
		return r.structure(kind)
	default:
		return nil, fmt.Errorf("%s has no form in JSON", kind)
	}
}

func (r *reader) nullable(kind reflect.Type) (schema, error) {
	made, err := r.of(kind)
	if text, is := made["type"].(string); is && !r.form {
		made["type"] = []string{text, "null"}
	}
	return made, err
}

func (r *reader) list(kind reflect.Type) (schema, error) {
	if kind.Kind() == reflect.Slice && kind.Elem().Kind() == reflect.Uint8 {
		return schema{"type": "string", "contentEncoding": "base64"}, nil
	}
	items, err := r.of(kind.Elem())
	made := schema{"type": "array", "items": items}
	if kind.Kind() == reflect.Array {
		made["minItems"], made["maxItems"] = kind.Len(), kind.Len()
	} else if !r.input {
		// A nil slice is null.
		made["type"] = []string{"array", "null"}
	}
	return made, err
}

func (r *reader) table(kind reflect.Type) (schema, error) {
	if kind.Key().Kind() != reflect.String {
		return nil, fmt.Errorf("%s: keys must be strings", kind)
	}
	values, err := r.of(kind.Elem())
	made := schema{"type": "object"}
	if len(values) > 0 {
		made["additionalProperties"] = values
	}
	return made, err
}

func (r *reader) structure(kind reflect.Type) (schema, error) {
	for _, outer := range r.within {
		if outer == kind {
			return nil, fmt.Errorf("%s contains itself: set a schema with InputSchema or OutputSchema", kind)
		}
	}
	r.within = append(r.within, kind)
	defer func() { r.within = r.within[:len(r.within)-1] }()
	properties, required := &members{}, []string{}
	if err := r.fields(kind, properties, &required); err != nil {
		return nil, err
	}
	made := schema{"type": "object", "properties": properties}
	if len(required) > 0 {
		made["required"] = required
	}
	if len(properties.all) == 0 {
		made = schema{"type": "object", "additionalProperties": false}
	}
	return made, nil
}

func (r *reader) fields(kind reflect.Type, properties *members, required *[]string) error {
	for i := range kind.NumField() {
		field := kind.Field(i)
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		if field.Anonymous && name == "" && field.Type.Kind() == reflect.Struct {
			if err := r.fields(field.Type, properties, required); err != nil {
				return err
			}
			continue
		}
		if !field.IsExported() || name == "-" {
			continue
		}
		if name == "" {
			name = field.Name
		}
		made, err := r.of(field.Type)
		if err == nil {
			err = r.describe(made, field.Type, field.Tag)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		properties.all = append(properties.all, member{name, made})
		optional := strings.Contains(options, "omitempty") || strings.Contains(options, "omitzero")
		if !optional && (!r.input || field.Type.Kind() != reflect.Pointer) {
			*required = append(*required, name)
		}
	}
	return nil
}

// The keywords of the tags.
func (r *reader) describe(made schema, kind reflect.Type, tag reflect.StructTag) error {
	for _, key := range []string{"description", "title", "format", "pattern"} {
		if text, is := tag.Lookup(key); is {
			made[key] = text
		}
	}
	for _, key := range []string{"minimum", "maximum", "minLength", "maxLength", "minItems", "maxItems"} {
		if text, is := tag.Lookup(key); is {
			number, err := strconv.ParseFloat(text, 64)
			if err != nil {
				return fmt.Errorf("%s %q is not a number", key, text)
			}
			made[key] = number
		}
	}
	if text, is := tag.Lookup("default"); is {
		value, err := typed(text, kind)
		if err != nil {
			return err
		}
		made["default"] = value
	}
	if text, is := tag.Lookup("enum"); is {
		choices, err := r.choices(strings.Split(text, ","), kind)
		if err != nil {
			return err
		}
		// For a list, the choice applies to each element.
		if items, is := made["items"].(schema); is {
			made = items
		}
		made["enum"] = choices
	}
	return nil
}

func (r *reader) choices(texts []string, kind reflect.Type) ([]any, error) {
	var all []any
	if kind.Kind() == reflect.Slice {
		kind = kind.Elem()
	}
	for _, text := range texts {
		value, err := typed(text, kind)
		if err != nil {
			return nil, err
		}
		all = append(all, value)
	}
	if kind.Kind() == reflect.Pointer && !r.form {
		all = append(all, nil)
	}
	return all, nil
}

// A tag's text as a value of the field's type.
func typed(text string, kind reflect.Type) (any, error) {
	if kind.Kind() == reflect.Pointer {
		kind = kind.Elem()
	}
	if kind.Kind() == reflect.String {
		return text, nil
	}
	value := reflect.New(kind)
	if err := json.Unmarshal([]byte(text), value.Interface()); err != nil {
		return nil, fmt.Errorf("%q is not a %s", text, kindOf(kind))
	}
	return json.RawMessage(text), nil
}

// The JSON name of a type.
func kindOf(kind reflect.Type) string {
	switch kind.Kind() {
	case reflect.String:
		return "string"
	case reflect.Bool:
		return "boolean"
	case reflect.Float32, reflect.Float64:
		return "number"
	case reflect.Slice, reflect.Array:
		return "array"
	case reflect.Struct, reflect.Map:
		return "object"
	case reflect.Pointer:
		return kindOf(kind.Elem())
	default:
		return "integer"
	}
}
