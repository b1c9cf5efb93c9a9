package wharf

import (
	"encoding/json"
	"fmt"

	"wharf-plugin/internal/host"
)

// Level is a severity of RFC 5424, in ascending order.
type Level uint8

const (
	Debug Level = iota
	Info
	Notice
	Warning
	Error
	Critical
	Alert
	Emergency
)

// Log writes to the host's log, and to the client if it asked for messages of this level.
func Log(level Level, message string) { host.Log(uint8(level), ABIValid(message)) }

// Logf is Log with a format.
func Logf(level Level, format string, arguments ...any) {
	Log(level, fmt.Sprintf(format, arguments...))
}

// LogData logs a structured value, with the name of the part of the plugin. Omitted if it
// cannot be encoded as JSON.
func LogData(level Level, logger string, data any) {
	if text, err := json.Marshal(data); err == nil {
		host.LogData(uint8(level), logger, string(text))
	}
}

// Listing is one of the plugin's lists.
type Listing uint8

const (
	// ToolList is the list of tools.
	ToolList Listing = iota
	// PromptList is the list of prompts.
	PromptList
	// ResourceList is the list of resources.
	ResourceList
)

// ListChanged notifies the host that one of this plugin's lists has changed.
func ListChanged(listing Listing) { host.ListChanged(uint8(listing)) }

// ResourceUpdated notifies the host that a resource of this plugin has new contents.
func ResourceUpdated(uri string) { host.ResourceUpdated(uri) }
