package prompt

import (
	"slices"

	"example.org/parley"
	"example.org/parley/model"
)

// Fixed sentences in requests that the record does not hold. They never change: requests must rebuild to the same
// bytes.
const (
	// NoResult answers a tool call without a result in the record (failure 44). When a call is given up for good,
	// record a result with this error.
	NoResult = parley.EffectUnknown
	// Interrupted follows the partial text of a cancelled answer (D3).
	Interrupted = "[This answer was interrupted before it was complete.]"

	summaryIntro = "Summary of the conversation so far:\n\n"
	systemIntro  = "[Imported system message]\n\n"
	linksIntro   = "Links:"
)

// slot is the position of a tool call's result.
type slot struct {
	callID, name string
	sequence     int64 // of the call
	filled       bool
	part         model.Part
	images       []model.Part // images of the result
}

// answer is an assistant message under construction, with the results of its calls.
type answer struct {
	turnID parley.ID
	step   int
	noted  bool // the interruption has been noted
	parts  []model.Part
	slots  []*slot // in call order
}

// grouping collects request messages from rows in sequence order.
type grouping struct {
	model   parley.ModelID
	files   Attachments
	texts   excerpting
	noted   bool // the steps that are left out have been named
	out     []entry
	current *answer          // the assistant message that further rows may join
	open    map[string]*slot // the latest call of each id
}

// entry is a user message, or an answer.
type entry struct {
	user   *model.Message
	answer *answer
}

// regroup turns rows, ascending, into the messages of a request for a model. The rows of one (turn, step) become one
// assistant message; the results of its calls follow in one tool message, in the order of the calls. Texts that are too
// long are excerpts, and notices stand where messages are missing.
func regroup(
	messages []parley.Message,
	model parley.ModelID,
	files Attachments,
	texts excerpting,
	missing notices,
) []model.Message {
	g := grouping{model: model, files: files, texts: texts, open: map[string]*slot{}}
	for i := range messages {
		if notice := missing.before(&messages[i]); notice != "" {
			g.notify(notice)
		}
		g.add(&messages[i])
	}
	if d := missing.dropped; d != nil { // nothing that follows is shown
		g.notify(droppedText(d))
	}
	if turn := texts.stubs.turn; turn != nil && turn.Dropped > 0 && !g.noted { // no step that follows is shown
		g.notify(texts.gap())
	}
	if r := missing.rejected; r != nil {
		g.notify(rejectedText(r))
	}
	return g.messages()
}

func (g *grouping) add(m *parley.Message) {
	switch m.Role {
	case parley.RoleUser:
		g.say(g.userParts(m))
	case parley.RoleSummary:
		g.say([]model.Part{textOfRow(m, summaryIntro+textOf(m))})
	case parley.RoleSystem:
		g.say([]model.Part{textOfRow(m, systemIntro+textOf(m))})
	case parley.RoleAssistant:
		g.noteGap(m)
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

// notify says that messages are missing.
func (g *grouping) notify(notice string) { g.say([]model.Part{textPart(notice)}) }

// noteGap says once, before the first step behind them, that steps of the running turn are left out.
func (g *grouping) noteGap(m *parley.Message) {
	if turn := g.texts.stubs.turn; turn != nil && turn.Dropped > 0 && m.Sequence > turn.Dropped && !g.noted {
		g.noted = true
		g.notify(g.texts.gap())
	}
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
	// Signed data, and reasoning in general, go only to the model that made them.
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
	for i := range content.Parts { // parts without a short form, from an outside agent
		switch content.Parts[i].Type {
		case parley.PartText, parley.PartReasoning, parley.PartRefusal:
		case parley.PartObject:
			if !parley.SaysObject(content.Text, content.Parts[i].Object) { // else the text shows it
				g.current.parts = append(g.current.parts, textOfRow(m, content.Parts[i].Plain()))
			}
		default:
			g.current.parts = append(g.current.parts, textOfRow(m, content.Parts[i].Plain()))
		}
	}
	g.note(m)
}

func (g *grouping) addCall(m *parley.Message) {
	if m.Status == parley.MessageCancelled { // its arguments are incomplete, and it never ran
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

// addResult fills the slot of the latest call with its id; it drops a result without a call, or a second one (failure
// 45).
func (g *grouping) addResult(m *parley.Message) {
	to := g.open[m.ToolCallID]
	if to == nil || to.filled {
		return
	}
	to.filled = true
	to.part = model.Part{Kind: model.PartToolResult, CallID: to.callID, Name: to.name, Sequence: m.Sequence}
	if g.texts.stubs.has(m) {
		result := g.texts.known.result(m, g.files)
		to.part.Text, to.part.IsError = g.texts.stub(m, result.bytes), result.failed
		return
	}
	content := decode[parley.ToolResultContent](m)
	text, images := shownResult(content, g.files)
	to.part.Text, to.part.IsError = g.texts.result(m, text), !content.Success
	for i := range images {
		images[i].CallID, images[i].Sequence = to.callID, m.Sequence
	}
	to.images = images
}

// note says once per answer that it was interrupted.
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

// textOfRow returns a text that a message of the record contributes to a request.
func textOfRow(m *parley.Message, text string) model.Part {
	return model.Part{Kind: model.PartText, Text: text, Sequence: m.Sequence}
}

// userParts returns the context note and the content's parts, each as a part of its own; consecutive links form one
// list.
func (g *grouping) userParts(m *parley.Message) []model.Part {
	content := decodeUser(m)
	parts := make([]model.Part, 0, len(content.Parts)+2)
	note := parley.WithoutOldNews(m.ContextNote, g.texts.block)
	if note != "" {
		parts = append(parts, textPart(note))
	}
	if len(content.Parts) == 0 && (content.Text != "" || len(parts) == 0) {
		parts = append(parts, textPart(content.Text))
	}
	for i := 0; i < len(content.Parts); i++ {
		part := &content.Parts[i]
		if part.Type != parley.PartLink {
			parts = append(parts, partOf(part, g.files))
			continue
		}
		list := linksIntro + "\n" + part.Plain()
		for ; i+1 < len(content.Parts) && content.Parts[i+1].Type == parley.PartLink; i++ {
			list += "\n" + content.Parts[i+1].Plain()
		}
		parts = append(parts, textPart(list))
	}
	if note == "" {
		g.texts.user(m, parts)
	} else {
		g.texts.user(m, parts[1:])
	}
	for i := range parts {
		parts[i].Sequence = m.Sequence
	}
	return parts
}

// partOf converts a part of the record to one of a request.
func partOf(part *parley.Part, files Attachments) model.Part {
	if file, found := files[part.FileID]; found && part.HoldsFile() {
		return file
	}
	return textPart(part.Plain())
}

// shownResult returns what a model sees of a tool's answer: its text, with a mark in place of each image, and the
// images.
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

// resultText returns what a model reads of a tool's answer: a JSON string as its text, other JSON unchanged; for a
// failure, the error first.
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
