package event

import (
	"encoding/json"

	"example.org/parley"
)

// ObjectPatch says how the object of a structured answer grows. It follows the step.generating whose text it is derived
// from, and is never stored. The first patch of a message, for late readers too, begins with replace of the root; the
// sum is at every moment a part of the final object. Any answer whose text begins as a JSON object has patches; if it
// turns out to be none, they stop. The step's end is authoritative.
//
//event:live
type ObjectPatch struct {
	MessageID parley.ID        `json:"message_id"` // the message whose object grows
	Patch     []PatchOperation `json:"patch"`      // to be applied in order
}

// PatchOperation is one operation of a JSON Patch (RFC 6902), or append.
type PatchOperation struct {
	Op    PatchOp         `json:"op"`              // what to do
	Path  string          `json:"path"`            // where, as a JSON Pointer (RFC 6901)
	From  string          `json:"from,omitempty"`  // of move and copy: where from
	Value json.RawMessage `json:"value,omitempty"` // of add, replace, test and append
}

// PatchOp is what an operation of a patch does.
type PatchOp string

// The operations: those of RFC 6902, and append, which adds text to the end of a string.
const (
	PatchAdd     PatchOp = "add"
	PatchRemove  PatchOp = "remove"
	PatchReplace PatchOp = "replace"
	PatchMove    PatchOp = "move"
	PatchCopy    PatchOp = "copy"
	PatchTest    PatchOp = "test"
	PatchAppend  PatchOp = "append"
)
