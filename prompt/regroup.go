package prompt

import (
	"slices"

	"example.org/parley"
	"example.org/parley/model"
)

// The fixed sentences that requests hold and the record does not. They never
// change: requests must rebuild to the same bytes.
const (
	// NoResult answers a tool call that has no result in the record (failure 44).
	// Record a result with this error when the call is given up for good.
	NoResult = parley.EffectUnknown
	// Interrupted stands behind the partial text of a cancelled answer (D3).
	Interrupted = "[This answer was interrupted before it was complete.]"

	summaryIntro = "Summary of the conversation so far:\n\n"
	systemIntro  = "[Imported system message]\n\n"
	linksIntro   = "Links:"
)

// slot is the place of a tool call's result.
type slot struct {
	callID, name string
	sequence     int64 // of the call
	filled       bool
	part         model.Part
	images       []model.Part // that belong to the result
}

// answer is one assistant message in the making, with the results of its calls.
type answer struct {
	turnID parley.ID
	step   int
	noted  bool // the interruption is told
	parts  []model.Part
	slots  []*slot // in call order
}

// grouping collects request messages from rows in sequence order.
type grouping struct {
	model   parley.ModelID
	files   Attachments
	out     []entry
	current *answer          // the assistant message that rows still join
	open    map[string]*slot // the latest call of each id
}

// entry is a user message, or an answer.
type entry struct {
	user   *model.Message
	answer *answer
}

// regroup turns rows, ascending, into the messages of a request for a model.
// The rows of one (turn, step) become one assistant message; the results of its
// calls follow in one tool message, in the order of the calls.
func regroup(messages []parley.Message, model parley.ModelID, files Attachments) []model.Message {
	g := grouping{model: model, files: files, open: map[string]*slot{}}
	for i := range messages {
		g.add(&messages[i])
	}
	return g.messages()
}

func (g *grouping) add(m *parley.Message) {
	switch m.Role {
	case parley.RoleUser:
		g.say(userParts(m, g.files))
	case parley.RoleSummary:
		g.say([]model.Part{textOfRow(m, summaryIntro+textOf(m))})
	case parley.RoleSystem:
		g.say([]model.Part{textOfRow(m, systemIntro+textOf(m))})
	case parley.RoleAssistant:
		g.join(m)
		g.addAssistant(m)
	case parley.RoleToolCall:
		g.join(m)
		g.addCall(m)
	case parley.RoleToolResult:
		g.current = nil
		g.addResult(m)
	}
}

func (g *grouping) say(parts []model.Part) {
	g.current = nil
	g.out = append(g.out, entry{user: &model.Message{Role: model.RoleUser, Parts: parts}})
}

// join opens an answer unless the row belongs to the current one.
func (g *grouping) join(m *parley.Message) {
	if g.current != nil && g.current.turnID == m.TurnID && g.current.step == m.Step {
		return
	}
	g.current = &answer{turnID: m.TurnID, step: m.Step}
	g.out = append(g.out, entry{answer: g.current})
}

func (g *grouping) addAssistant(m *parley.Message) {
	content := decodeAssistant(m)
	// What the provider signed, and reasoning at all, is for the model that made it.
	if m.Model == g.model && (content.Reasoning != "" || len(m.ProviderData) > 0) {
		g.current.parts = append(g.current.parts, model.Part{
			Kind: model.PartReasoning, Text: content.Reasoning, ProviderData: m.ProviderData, Sequence: m.Sequence,
		})
	}
	for _, text := range []string{content.Text, content.Refusal} {
		if text != "" {
			g.current.parts = append(g.current.parts, textOfRow(m, text))
		}
	}
	for i := range content.Parts { // what has no short form, by an agent outside
		switch content.Parts[i].Type {
		case parley.PartText, parley.PartReasoning, parley.PartRefusal:
		default:
			g.current.parts = append(g.current.parts, textOfRow(m, content.Parts[i].Plain()))
		}
	}
	g.note(m)
}

func (g *grouping) addCall(m *parley.Message) {
	if m.Status == parley.MessageCancelled { // its arguments are incomplete and it never ran
		g.note(m)
		return
	}
	content := decode[parley.ToolCallContent](m)
	part := model.Part{
		Kind: model.PartToolCall, CallID: content.ID, Name: content.Name, Arguments: []byte("{}"), Sequence: m.Sequence,
	}
	if part.CallID == "" {
		part.CallID = m.ToolCallID
	}
	if part.Name == "" {
		part.Name = m.ToolName
	}
	if len(content.Arguments) > 0 && content.Arguments[0] == '{' {
		part.Arguments = content.Arguments
	}
	if m.Model == g.model {
		part.ProviderData = m.ProviderData
	}
	result := &slot{callID: part.CallID, name: part.Name, sequence: m.Sequence}
	g.current.parts = append(g.current.parts, part)
	g.current.slots = append(g.current.slots, result)
	g.open[part.CallID] = result
}

// addResult fills the place of the latest call of its id; a result without a
// call, or a second one, is left out (failure 45).
func (g *grouping) addResult(m *parley.Message) {
	to := g.open[m.ToolCallID]
	if to == nil || to.filled {
		return
	}
	content := decode[parley.ToolResultContent](m)
	text, images := shownResult(content, g.files)
	to.filled = true
	to.part = model.Part{
		Kind: model.PartToolResult, CallID: to.callID, Name: to.name,
		Text: text, IsError: !content.Success, Sequence: m.Sequence,
	}
	for i := range images {
		images[i].CallID, images[i].Sequence = to.callID, m.Sequence
	}
	to.images = images
}

// note tells once per answer that it was interrupted.
func (g *grouping) note(m *parley.Message) {
	if m.Status == parley.MessageCancelled && !g.current.noted {
		g.current.noted = true
		g.current.parts = append(g.current.parts, textOfRow(m, Interrupted))
	}
}

func (g *grouping) messages() []model.Message {
	out := make([]model.Message, 0, len(g.out)+len(g.open))
	for _, e := range g.out {
		if e.user != nil {
			out = append(out, *e.user)
			continue
		}
		if len(e.answer.parts) == 0 {
			continue
		}
		out = append(out, model.Message{Role: model.RoleAssistant, Parts: e.answer.parts})
		if len(e.answer.slots) == 0 {
			continue
		}
		results := make([]model.Part, 0, len(e.answer.slots))
		for _, s := range e.answer.slots {
			if s.filled {
				results = append(append(results, s.part), s.images...)
				continue
			}
			results = append(results, model.Part{
				Kind:     model.PartToolResult,
				CallID:   s.callID,
				Name:     s.name,
				Text:     NoResult,
				IsError:  true,
				Sequence: s.sequence,
			})
		}
		out = append(out, model.Message{Role: model.RoleTool, Parts: results})
	}
	return out
}

func textPart(text string) model.Part {
	return model.Part{Kind: model.PartText, Text: text}
}

// textOfRow is a text that a message of the record puts into a request.
func textOfRow(m *parley.Message, text string) model.Part {
	return model.Part{Kind: model.PartText, Text: text, Sequence: m.Sequence}
}

// userParts are the context note and the content's parts, each a part of its own; links in a
// row are one list.
func userParts(m *parley.Message, files Attachments) []model.Part {
	content := decodeUser(m)
	parts := make([]model.Part, 0, len(content.Parts)+2)
	if m.ContextNote != "" {
		parts = append(parts, textPart(m.ContextNote))
	}
	if len(content.Parts) == 0 && (content.Text != "" || len(parts) == 0) {
		parts = append(parts, textPart(content.Text))
	}
	for i := 0; i < len(content.Parts); i++ {
		part := &content.Parts[i]
		if part.Type != parley.PartLink {
			parts = append(parts, partOf(part, files))
			continue
		}
		list := linksIntro + "\n" + part.Plain()
		for ; i+1 < len(content.Parts) && content.Parts[i+1].Type == parley.PartLink; i++ {
			list += "\n" + content.Parts[i+1].Plain()
		}
		parts = append(parts, textPart(list))
	}
	for i := range parts {
		parts[i].Sequence = m.Sequence
	}
	return parts
}

// partOf is a part of the record as one of a request.
func partOf(part *parley.Part, files Attachments) model.Part {
	if file, found := files[part.FileID]; found && part.HoldsFile() {
		return file
	}
	return textPart(part.Plain())
}

// shownResult is what a model is shown of a tool's answer: its text, with a mark where each
// image stands, and the images.
func shownResult(content parley.ToolResultContent, files Attachments) (string, []model.Part) {
	var images []model.Part
	content.Parts = slices.Clone(content.Parts)
	for i := range content.Parts {
		part := &content.Parts[i]
		shown := partOf(part, files)
		if shown.Kind == model.PartImage {
			images = append(images, shown)
		} else {
			*part = parley.Part{Type: parley.PartText, Text: shown.Text}
		}
	}
	return resultText(content), images
}

// resultText is what a model reads of a tool's answer: a JSON string as its
// text, other JSON as it is; of a failure the error, then what there is.
func resultText(content parley.ToolResultContent) string {
	text := content.Plain()
	switch {
	case content.Error == nil && text == "" && content.Success:
		return "null"
	case content.Error == nil:
		return text
	case text == "":
		return *content.Error
	}
	return *content.Error + "\n" + text
}
