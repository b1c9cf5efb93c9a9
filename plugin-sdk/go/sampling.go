package wharf

import (
	"encoding/json"
	"strings"

	types "wharf-plugin/internal/abi/wharf_plugin_types"
	wit "wharf-plugin/internal/wit/types"
)

// Sampling is a request to the client's model. Only the messages are required.
type Sampling struct {
	Messages []Message
	// MaxTokens defaults to 1000.
	MaxTokens    uint32
	SystemPrompt string
	// Temperature is optional; see Ptr.
	Temperature   *float64
	StopSequences []string
	// Models are names or parts of names, best first.
	Models []string
	// The priorities are from 0 to 1; see Ptr.
	CostPriority, SpeedPriority, IntelligencePriority *float64
	IncludeContext                                    ContextScope
	// Tools are only for clients with CanSampleTools.
	Tools      []SamplingTool
	ToolChoice ToolChoice
	// Metadata is for the provider and must encode to a JSON object.
	Metadata any
}

// Message is a message of the conversation with the model.
type Message struct {
	Role   Role
	Blocks []Block
}

// Block is a piece of a message. Set one of Text, Data, ToolUse and ToolResult.
type Block struct {
	Text string `json:"text,omitempty"`
	// Data is an image or audio, according to its media type.
	Data     []byte `json:"data,omitempty"`
	MIMEType string `json:"mimeType,omitempty"`
	// ToolUse is a tool use that the model requests.
	ToolUse *ToolUse `json:"toolUse,omitempty"`
	// ToolResult is the result of a tool use.
	ToolResult *ToolResult `json:"-"`
}

// ToolUse is a tool use that the model requests.
type ToolUse struct {
	ID    string          `json:"id"`
	Name  string          `json:"name"`
	Input json.RawMessage `json:"input"`
}

// ToolResult is the result of a tool use.
type ToolResult struct {
	ToolUseID string
	Content   []Content
	Failed    bool
}

// SamplingTool is a tool that the model may use. Its schema is JSON.
type SamplingTool struct{ Name, Description, InputSchema string }

// ToolChoice determines whether the model has to use a tool.
type ToolChoice uint8

const (
	// ToolChoiceUnset is the client's default.
	ToolChoiceUnset ToolChoice = iota
	// ToolChoiceAuto lets the model decide.
	ToolChoiceAuto
	// ToolChoiceRequired requires a tool use.
	ToolChoiceRequired
	// ToolChoiceNone forbids tool uses.
	ToolChoiceNone
)

// ContextScope is how much of the conversation the model sees.
type ContextScope uint8

const (
	// ContextUnset is the client's default.
	ContextUnset ContextScope = iota
	// ContextNone is nothing of it.
	ContextNone
	// ContextThisServer is what belongs to this server.
	ContextThisServer
	// ContextAllServers is all of it.
	ContextAllServers
)

// Sampled is the model's answer.
type Sampled struct {
	Model      string  `json:"model"`
	StopReason string  `json:"stopReason,omitempty"`
	Blocks     []Block `json:"blocks"`
}

// Text returns all its texts, concatenated.
func (s Sampled) Text() string {
	var all strings.Builder
	for _, block := range s.Blocks {
		all.WriteString(block.Text)
	}
	return all.String()
}

// Sample sends a request to the client's model.
func (c *Call) Sample(sampling Sampling) (Sampled, error) {
	answer, err := c.ask(types.MakeAskSample(sampling.abi()))
	if err == nil && answer.Sampled == nil {
		err = errMisplaced
	}
	if err != nil {
		return Sampled{}, err
	}
	return *answer.Sampled, nil
}

// SampleText sends a text to the client's model, and returns the text of its answer.
func (c *Call) SampleText(prompt string) (string, error) {
	sampled, err := c.Sample(Sampling{Messages: []Message{{Role: User, Blocks: []Block{{Text: prompt}}}}})
	return sampled.Text(), err
}

func (s Sampling) abi() types.Sampling {
	raw := types.Sampling{
		MaxTokens:        s.MaxTokens,
		SystemPrompt:     ABIText(s.SystemPrompt),
		Temperature:      option(s.Temperature),
		StopSequences:    s.StopSequences,
		ModelPreferences: wit.None[types.ModelPreferences](),
		IncludeContext:   wit.None[types.ContextScope](),
		ToolChoice:       wit.None[types.ToolChoice](),
		Metadata:         ABIMeta(s.Metadata),
	}
	if raw.MaxTokens == 0 {
		raw.MaxTokens = 1000
	}
	for _, message := range s.Messages {
		raw.Messages = append(raw.Messages, message.abi())
	}
	if s.Models != nil || s.CostPriority != nil || s.SpeedPriority != nil || s.IntelligencePriority != nil {
		raw.ModelPreferences = wit.Some(types.ModelPreferences{
			Hints:                s.Models,
			CostPriority:         option(s.CostPriority),
			SpeedPriority:        option(s.SpeedPriority),
			IntelligencePriority: option(s.IntelligencePriority),
		})
	}
	if s.IncludeContext != ContextUnset {
		raw.IncludeContext = wit.Some(types.ContextScope(s.IncludeContext - ContextNone))
	}
	if s.ToolChoice != ToolChoiceUnset {
		raw.ToolChoice = wit.Some(types.ToolChoice(s.ToolChoice - ToolChoiceAuto))
	}
	for _, tool := range s.Tools {
		raw.Tools = append(raw.Tools, types.SamplingTool{
			Name: tool.Name, Description: ABIText(tool.Description), InputSchema: tool.InputSchema,
		})
	}
	return raw
}

func (m Message) abi() types.SamplingMessage {
	raw := types.SamplingMessage{Role: uint8(m.Role)}
	for _, block := range m.Blocks {
		raw.Content = append(raw.Content, block.abi())
	}
	return raw
}

func (b Block) abi() types.SamplingContent {
	none, bare := wit.None[types.Annotations](), wit.None[string]()
	switch {
	case b.ToolUse != nil:
		use := types.ToolUse{Id: b.ToolUse.ID, Name: b.ToolUse.Name, Input: string(b.ToolUse.Input)}
		return types.MakeSamplingContentToolUse(use)
	case b.ToolResult != nil:
		return types.MakeSamplingContentToolResult(types.ToolAnswer{
			ToolUseId:  b.ToolResult.ToolUseID,
			Content:    ABIContent(b.ToolResult.Content),
			Structured: bare,
			IsError:    b.ToolResult.Failed,
		})
	case b.Data != nil:
		media := types.MediaContent{Data: b.Data, MimeType: b.MIMEType, Annotations: none, Meta: bare}
		if strings.HasPrefix(b.MIMEType, "audio/") {
			return types.MakeSamplingContentAudio(media)
		}
		return types.MakeSamplingContentImage(media)
	default:
		return types.MakeSamplingContentText(types.TextContent{Text: b.Text, Annotations: none, Meta: bare})
	}
}

func sampledOf(raw types.Sampled) Sampled {
	sampled := Sampled{Model: raw.Model, StopReason: raw.StopReason.SomeOr("")}
	for _, content := range raw.Content {
		switch content.Tag() {
		case types.SamplingContent_Text:
			sampled.Blocks = append(sampled.Blocks, Block{Text: content.Text().Text})
		case types.SamplingContent_Image:
			sampled.Blocks = append(sampled.Blocks, Block{Data: content.Image().Data, MIMEType: content.Image().MimeType})
		case types.SamplingContent_Audio:
			sampled.Blocks = append(sampled.Blocks, Block{Data: content.Audio().Data, MIMEType: content.Audio().MimeType})
		case types.SamplingContent_ToolUse:
			use := content.ToolUse()
			sampled.Blocks = append(sampled.Blocks, Block{ToolUse: &ToolUse{use.Id, use.Name, json.RawMessage(use.Input)}})
		}
	}
	return sampled
}
