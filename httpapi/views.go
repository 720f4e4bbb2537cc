package httpapi

import (
	"slices"

	"example.org/parley/engine"
)

// messageView is a view of messages whose rows differ from the record's. It has its own path.
type messageView struct {
	value   string // of the parameter view of listMessages, and the end of the path
	name    string // operationId
	visible bool   // has no internal messages, so that the parameter internal means nothing
	says    string
	about   string
	answers []answer
}

func messageViews() []messageView {
	return []messageView{
		{
			value:   "transcript",
			name:    "listTranscript",
			visible: true,
			says:    "List messages as a transcript",
			about: "Folds an agent's output into blocks, one entry per turn. Leaves out internal messages. A page " +
				"never splits a turn, so it may be longer than limit.",
			answers: listed[engine.Entry](entryExample),
		},
		{
			value:   "chat",
			name:    "listChat",
			visible: true,
			says:    "List messages as a chat",
			about: "One assistant message per step, with its calls. Leaves out internal messages. A page never " +
				"splits a turn, so it may be longer than limit.",
			answers: listed[engine.ChatMessage](chatMessageExample),
		},
		{
			value:   "ids",
			name:    "listMessageIDs",
			says:    "List the ids of messages",
			about:   "By sequence, oldest first; queued messages come last, by position.",
			answers: listed[engine.MessageID](messageIDRowExample),
		},
	}
}

// withViews adds for a list of messages a route for each view with rows of its own, so that each operation of the
// document has one kind of answer. The parameter view of the list still takes their names.
func withViews(list []route) []route {
	for i := range list {
		if r := &list[i]; r.views {
			for _, of := range messageViews() {
				list = append(list, r.inView(of))
			}
		}
	}
	return list
}

// inView is the route that lists the same messages as r in a view.
func (r *route) inView(of messageView) route {
	v := *r
	v.name, v.of, v.view, v.views = of.name, r.name, of.value, false
	v.says, v.about, v.answers = of.says, of.about, of.answers
	v.query = slices.DeleteFunc(slices.Clone(r.query), func(p parameter) bool {
		return p.name == viewParameter || of.visible && p.name == internalParameter
	})
	v.paths = make([]string, 0, len(r.paths))
	for _, path := range r.paths {
		v.paths = append(v.paths, path+"/"+of.value)
	}
	return v
}

// viewParameter is the parameter that chooses a list's view.
const viewParameter = "view"

// internalParameter is the parameter that filters messages by whether they are internal.
const internalParameter = "internal"
