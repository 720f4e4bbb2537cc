package httpapi

import (
	"slices"

	"example.org/parley/engine"
)

// messageView is a form of messages whose rows are not the record's, at a path of its own.
type messageView struct {
	value   string // of the parameter view of listMessages, and the end of the path
	name    string // operationId
	says    string
	about   string
	answers []answer
}

func messageViews() []messageView {
	return []messageView{
		{
			value: "transcript",
			name:  "listTranscript",
			says:  "List messages as a transcript",
			about: "An agent's output is folded into blocks, an entry per turn. Internal messages are left out. A " +
				"page never cuts a turn in two, so it may be longer than limit.",
			answers: listed[engine.Entry](entryExample),
		},
		{
			value: "chat",
			name:  "listChat",
			says:  "List messages as a chat",
			about: "One assistant message per step, with its calls. Internal messages are left out. A page never " +
				"cuts a turn in two, so it may be longer than limit.",
			answers: listed[engine.ChatMessage](chatMessageExample),
		},
		{
			value:   "ids",
			name:    "listMessageIDs",
			says:    "List the ids of messages",
			about:   "By sequence, oldest first; queued ones stand at the end by position.",
			answers: listed[engine.MessageID](messageIDRowExample),
		},
	}
}

// withViews adds to a list of messages a route for each view whose rows are of another form, so that each operation
// of the document has one kind of answer. The parameter view asks the list for them too.
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

// inView is the route that lists what r does, in a view.
func (r *route) inView(of messageView) route {
	v := *r
	v.name, v.of, v.view, v.views = of.name, r.name, of.value, false
	v.says, v.about, v.answers = of.says, of.about, of.answers
	v.query = slices.DeleteFunc(slices.Clone(r.query), func(p parameter) bool { return p.name == viewParameter })
	v.paths = make([]string, 0, len(r.paths))
	for _, path := range r.paths {
		v.paths = append(v.paths, path+"/"+of.value)
	}
	return v
}

// viewParameter is the parameter by which a list is asked for a view.
const viewParameter = "view"
