package parley

import (
	"bytes"
	"encoding/json"
)

// The members of a user message's metadata that the metadata of the answers to it repeats: what the work is about.
const (
	FeatureField = "feature"
	TaskField    = "task"
)

// TaskOf returns the feature and the task that a message's metadata names. One that is not a text, or longer than that
// of a session may be, is "".
func TaskOf(metadata json.RawMessage) (feature, task string) {
	if !bytes.Contains(metadata, []byte(`"`+FeatureField+`"`)) && !bytes.Contains(metadata, []byte(`"`+TaskField+`"`)) {
		return "", ""
	}
	var fields map[string]json.RawMessage
	if json.Unmarshal(metadata, &fields) != nil {
		return "", ""
	}
	read := func(name string) (text string) {
		if json.Unmarshal(fields[name], &text) != nil || len(text) > MaxKeyBytes {
			return ""
		}
		return text
	}
	return read(FeatureField), read(TaskField)
}
