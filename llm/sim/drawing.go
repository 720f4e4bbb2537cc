package sim

import (
	"encoding/json"
	"strconv"
	"strings"

	"example.org/parley"
	"example.org/parley/model"
)

// drawing draws knowledge from work as well as a simulator can: what the agent said last becomes a fact, unless it is
// known already.
type drawing struct{}

// drawnFact is the most of a text that becomes a fact, in bytes.
const drawnFact = 300

// noteEnd ends the knowledge in a message's context note.
const noteEnd = "</knowledge>"

// drawnItem is one item of the answer.
type drawnItem struct {
	Text       string               `json:"text"`
	Kind       parley.KnowledgeKind `json:"kind"`
	Confidence int                  `json:"confidence"`
	Sources    []int64              `json:"sources"`
	Confirms   *string              `json:"confirms"`
	Replaces   *string              `json:"replaces"`
}

func (drawing) play(a *answer) {
	items := []drawnItem{}
	if said, sequence := lastSaid(a.request.userText()); said != "" {
		items = append(items, drawnItem{
			Text: said, Kind: parley.KnowledgeFact, Confidence: 50, Sources: []int64{sequence},
		})
	}
	text, err := json.Marshal(map[string][]drawnItem{"items": items})
	if err != nil {
		a.fail(model.NewError(parley.ClassModel, false, "the simulator cannot write what it has drawn", err))
		return
	}
	if a.say(model.ChunkText, string(text)) {
		a.finish(parley.FinishStop)
	}
}

// lastSaid returns the first line of the last message of an assistant in a list of messages, and its number there.
func lastSaid(list string) (text string, sequence int64) {
	for line := range strings.Lines(list) {
		head, quoted, found := strings.Cut(line, " assistant] ")
		number, listed := strings.CutPrefix(head, "[")
		if !found || !listed {
			continue
		}
		var said string
		n, err := strconv.ParseInt(number, 10, 64)
		if err != nil || json.Unmarshal([]byte(quoted), &said) != nil {
			continue
		}
		if at := strings.LastIndex(said, noteEnd); at >= 0 { // an echo of what the message was told
			said = said[at+len(noteEnd):]
		}
		first, _, _ := strings.Cut(strings.TrimSpace(said), "\n")
		if first = parley.Clip(strings.TrimSpace(first), drawnFact); first != "" {
			text, sequence = first, n
		}
	}
	return text, sequence
}
