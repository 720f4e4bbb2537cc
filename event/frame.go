package event

import (
	"bytes"
	"encoding/json"
	"strconv"

	"example.org/parley"
)

// AppendFrame appends the JSON of a durable event's frame, on one line. An event of a dry run has no sequence, since no
// store has it.
func AppendFrame(to []byte, e *parley.Event) []byte {
	to = appendID(append(to, `{"session_id":`...), e.SessionID)
	to = append(to, `,"sequence":`...)
	if e.Sequence > 0 {
		to = strconv.AppendInt(to, e.Sequence, 10)
	} else {
		to = append(to, "null"...)
	}
	to = parley.AppendJSONString(append(to, `,"type":`...), string(e.Type))
	to = e.CreatedAt.AppendJSON(append(to, `,"created_at":`...))
	return append(appendLine(append(to, `,"data":`...), e.Data), '}')
}

// AppendFeedFrame appends the JSON of a frame of the workspace feed, on one line.
func AppendFeedFrame(to []byte, sessionID parley.ID, kind parley.EventType, data json.RawMessage) []byte {
	to = appendID(append(to, `{"session_id":`...), sessionID)
	to = parley.AppendJSONString(append(to, `,"type":`...), string(kind))
	return append(appendLine(append(to, `,"data":`...), data), '}')
}

// appendLine appends an object on one line.
func appendLine(to []byte, data json.RawMessage) []byte {
	switch {
	case len(data) == 0:
		return append(to, "{}"...)
	case !bytes.ContainsAny(data, "\r\n"):
		return append(to, data...)
	}
	var line bytes.Buffer
	if json.Compact(&line, data) != nil {
		return append(to, "{}"...)
	}
	return append(to, line.Bytes()...)
}
