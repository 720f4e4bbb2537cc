package worker

import (
	"slices"

	"example.org/parley"
	"example.org/parley/prompt"
	"example.org/parley/tool"
)

// The built-in tools whose answers are short, whatever they are asked.
var shortAnswers = [...]string{ //nolint:gochecknoglobals // never written
	parley.AskUserTool,
	parley.ReadResultTool,
	parley.RunTransformTool,
	"current_time",
	"write_file",
	"write_artifact",
	"edit_artifact",
}

// recallTools are the tools by which a model reads its own conversation again. The worker offers them by itself: the
// first as soon as texts may be shown in part, all of them once the policy auto shows less than everything.
var recallTools = [...]string{ //nolint:gochecknoglobals // never written
	parley.ReadResultTool, parley.SearchConversationTool, parley.ReadConversationTool,
}

// How many of recallTools are offered.
const (
	offersNone    = 0
	offersReading = 1
	offersRecall  = len(recallTools)
)

// Why tools are offered that the agent does not name.
const (
	offeredForLong    = "results of the agent's tools may be long"
	offeredForExcerpt = "a text is shown in part"
	offeredForHidden  = "not all of the conversation is shown"
)

// answersLong reports whether the server's tools of an entry may give results that are too long for a request.
func (t *tools) answersLong(ref parley.ToolRef) bool {
	if ref.Agent != nil || ref.Definition != nil {
		return false
	}
	return slices.ContainsFunc(t.serverTools(ref), func(tool tool.Tool) bool {
		return !slices.Contains(shortAnswers[:], tool.Definition().Name)
	})
}

// offerable finds those of the first few recallTools that the worker may offer by itself: the server has them, and the
// model has no tools of their names and room for them.
func (t *tools) offerable(few int) (found []parley.ToolDefinition) {
	if t.speaker != nil || t.info.Known && !t.info.Tools {
		return nil
	}
	for _, name := range recallTools[:few] {
		named := func(d parley.ToolDefinition) bool { return d.Name == name }
		if offered, ok := t.serverSource().Tool(name); ok && len(t.own)+len(found) < parley.MaxTools &&
			!slices.ContainsFunc(t.own, named) {
			found = append(found, offered.Definition())
		}
	}
	return found
}

// mayOffer is how many of recallTools the turn's requests may come to offer.
func (t *tools) mayOffer() int {
	if !t.settings.Policy.Recalls() {
		return offersReading
	}
	if choice := t.settings.Parameters.ToolChoice; choice != nil && len(t.own) == 0 && parley.Forces(*choice) {
		return offersReading // the choice was made for the agent's own tools
	}
	return offersRecall
}

// offer shows the model the first few of recallTools from now on, as far as they may be offered. The turn's other tools
// stay the same.
func (t *tools) offer(few int, because string) error {
	if few <= t.offers {
		return nil
	}
	extra := t.offerable(few)
	if len(extra) == 0 {
		return nil
	}
	definitions, err := t.w.toolsets.of(append(slices.Clip(t.own), extra...))
	if err != nil {
		return err
	}
	t.definitions, t.offers = definitions, few
	t.offered = &parley.OfferedTools{Reason: because}
	for i := range extra {
		t.offered.Names = append(t.offered.Names, extra[i].Name)
	}
	return nil
}

// offerFor shows the model what it may read its conversation with, once a request does not show all of it. The tools
// change when the request's beginning changes anyway.
func (t *tools) offerFor(selection *prompt.Selection) error {
	may := t.mayOffer()
	switch {
	case selection.Hides() && may == offersRecall:
		return t.offer(offersRecall, offeredForHidden)
	case selection.Shortened || !selection.Cut.IsZero() || selection.Manifest.Stubs != nil:
		return t.offer(offersReading, offeredForExcerpt)
	}
	return nil
}

// reader finds the tool that answers a call of one of recallTools that no entry of the agent's tools offers. They read
// only the session's own record, so they need no entry.
func (t *tools) reader(call *toolCall) bool {
	if call.malformed || !slices.Contains(recallTools[:t.mayOffer()], call.name) ||
		slices.ContainsFunc(t.settings.Tools, func(ref parley.ToolRef) bool { return ref.Offers(call.name) }) {
		return false
	}
	if t.w.script != nil {
		call.tool = t.w.script.tool(call.name)
		return true
	}
	call.tool, call.recall = t.serverSource().Tool(call.name)
	return call.recall
}
