package builtin

import (
	"context"
	"encoding/json"
	"time"

	"example.org/parley"
	"example.org/parley/tool"
)

// currentTime tells the time, in a time zone of the caller's choice.
type currentTime struct {
	now func() time.Time
}

var _ tool.Tool = currentTime{}

// Definition implements tool.Tool.
func (currentTime) Definition() parley.ToolDefinition {
	return parley.ToolDefinition{
		Name:        "current_time",
		Description: "Tells the current date and time, in UTC or in the time zone asked for.",
		Parameters: json.RawMessage(`{"additionalProperties":false,"properties":{"timezone":{"description":` +
			`"IANA time zone, for example Europe/Berlin. UTC when absent.","type":"string"}},"type":"object"}`),
	}
}

// Annotations implements tool.Tool: it only reads the clock.
func (currentTime) Annotations() parley.ToolAnnotations {
	return parley.ToolAnnotations{ReadOnly: true, Idempotent: true}
}

// Source implements tool.Tool.
func (currentTime) Source() string { return sourceName }

// timeAnswer is the result: the time in RFC 3339 with its offset.
type timeAnswer struct {
	Time     string `json:"time"`
	Timezone string `json:"timezone"`
}

// Call implements tool.Tool. It returns CodeInvalid for unknown arguments and for a time zone that does not exist.
func (t currentTime) Call(ctx context.Context, call tool.Call) (tool.Result, error) {
	return tool.JSON(t.answer(ctx, call))
}

func (t currentTime) answer(_ context.Context, call tool.Call) (json.RawMessage, error) {
	var arguments struct {
		Timezone *string `json:"timezone"`
	}
	if err := call.Read(&arguments); err != nil {
		return nil, parley.Errorf(parley.CodeInvalid, `current_time takes an object with at most the string "timezone"`)
	}
	zone := time.UTC
	if arguments.Timezone != nil && *arguments.Timezone != "" {
		found, err := parley.LoadZone(*arguments.Timezone)
		if err != nil {
			return nil, parley.InvalidField("timezone", "%q is not an IANA time zone; write for example Europe/Berlin",
				parley.Clip(*arguments.Timezone, 64))
		}
		zone = found
	}
	return json.Marshal(timeAnswer{Time: t.now().In(zone).Format(time.RFC3339), Timezone: zone.String()})
}
