package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"maps"
	"slices"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// The protocol's library reads a list of tools whole or not at all. So that one wrong member does not cost a server all
// of its tools, lists lose what the library cannot read before it reads them.

// unread is called for each member that a list lost, with its tool's name.
type unread func(tool, member string)

type unreadKey struct{}

// withMending marks the requests of ctx as requests for lists of tools, which are mended.
func withMending(ctx context.Context, tell unread) context.Context {
	return context.WithValue(ctx, unreadKey{}, tell)
}

// mendingOf returns the function that is told of losses; nil for requests whose answers are not changed.
func mendingOf(ctx context.Context) unread {
	tell, _ := ctx.Value(unreadKey{}).(unread)
	return tell
}

// mendList removes unreadable members from the result of tools/list. It does not change anything else.
func mendList(result json.RawMessage, tell unread) json.RawMessage {
	var list map[string]json.RawMessage
	var tools []json.RawMessage
	if json.Unmarshal(result, &list) != nil || json.Unmarshal(list["tools"], &tools) != nil {
		return result
	}
	mended := false
	kept := make([]json.RawMessage, 0, len(tools))
	for _, raw := range tools {
		if fit, marked := markTask(raw); marked {
			raw, mended = fit, true
		}
		if json.Unmarshal(raw, &sdk.Tool{}) == nil && !bytes.Equal(raw, []byte("null")) {
			kept = append(kept, raw)
			continue
		}
		mended = true
		if fit, ok := mendTool(raw, tell); ok {
			kept = append(kept, fit)
		}
	}
	if !mended {
		return result
	}
	list["tools"] = encoded(kept)
	return encoded(list)
}

// metaTask marks, in a tool's _meta, what the library does not read: the tool runs only as a task.
const metaTask = "parley/task-only"

// markTask marks a tool that may be called only as a task, which answers with a handle instead of a result.
func markTask(raw json.RawMessage) (json.RawMessage, bool) {
	var says struct {
		Execution struct {
			TaskSupport string `json:"taskSupport"`
		} `json:"execution"`
	}
	var members map[string]json.RawMessage
	if json.Unmarshal(raw, &says) != nil || says.Execution.TaskSupport != "required" ||
		json.Unmarshal(raw, &members) != nil {
		return raw, false
	}
	members["_meta"] = json.RawMessage(`{"` + metaTask + `":true}`)
	return encoded(members), true
}

// mendTool removes unreadable members; it returns false for a tool without a name.
func mendTool(raw json.RawMessage, tell unread) (json.RawMessage, bool) {
	var members map[string]json.RawMessage
	var name string
	if json.Unmarshal(raw, &members) != nil || json.Unmarshal(members["name"], &name) != nil {
		tell("", "name")
		return nil, false
	}
	for _, member := range slices.Sorted(maps.Keys(members)) {
		if reads[sdk.Tool](member, members[member]) {
			continue
		}
		tell(name, member)
		var hints map[string]json.RawMessage
		if member != "annotations" || json.Unmarshal(members[member], &hints) != nil {
			delete(members, member)
			continue
		}
		maps.DeleteFunc(hints, func(hint string, value json.RawMessage) bool {
			return !reads[sdk.ToolAnnotations](hint, value)
		})
		members[member] = encoded(hints)
	}
	return encoded(members), true
}

// reads reports whether a T with only this member can be decoded.
func reads[T any](member string, value json.RawMessage) bool {
	return json.Unmarshal(encoded(map[string]json.RawMessage{member: value}), new(T)) == nil
}

// encoded encodes a value that was decoded from JSON.
func encoded(value any) json.RawMessage {
	raw, err := json.Marshal(value)
	if err != nil {
		return json.RawMessage("null") // cannot happen: it was JSON
	}
	return raw
}

// mendMessage mends a whole message that answers tools/list.
func mendMessage(message []byte, tell unread) []byte {
	var members map[string]json.RawMessage
	if json.Unmarshal(message, &members) != nil || members["result"] == nil {
		return message
	}
	fit := mendList(members["result"], tell)
	if bytes.Equal(fit, members["result"]) {
		return message
	}
	members["result"] = fit
	return encoded(members)
}

// mendedEvents is a stream of events whose data are mended, each line by itself.
type mendedEvents struct {
	io.ReadCloser
	tell unread
	rest []byte // read, but not a whole line yet
	out  []byte // mended, but not read yet
	err  error
}

// Read implements io.Reader.
func (m *mendedEvents) Read(p []byte) (int, error) {
	for len(m.out) == 0 {
		if m.err != nil {
			return 0, m.err
		}
		buffer := make([]byte, max(len(p), 512))
		n, err := m.ReadCloser.Read(buffer)
		m.rest, m.err = append(m.rest, buffer[:n]...), err
		if len(m.rest) > MaxMessageBytes {
			return 0, errTooLong
		}
		whole := bytes.LastIndexByte(m.rest, '\n') + 1
		if err != nil {
			whole = len(m.rest)
		}
		for line := range bytes.Lines(m.rest[:whole]) {
			m.out = append(m.out, m.mend(line)...)
		}
		m.rest = slices.Clone(m.rest[whole:])
	}
	n := copy(p, m.out)
	m.out = m.out[n:]
	return n, nil
}

// mend mends one line.
func (m *mendedEvents) mend(line []byte) []byte {
	data, ok := strings.CutPrefix(string(line), "data:")
	if !ok {
		return line
	}
	text := strings.TrimSpace(data)
	fit := mendMessage([]byte(text), m.tell)
	if string(fit) == text {
		return line
	}
	return append(append([]byte("data: "), fit...), '\n')
}
