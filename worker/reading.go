package worker

import (
	"slices"

	"example.org/parley"
	"example.org/parley/tool"
)

// The built-in tools whose answers are short, whatever they are asked.
var shortAnswers = [...]string{ //nolint:gochecknoglobals // never written
	parley.AskUserTool, parley.ReadResultTool, "current_time", "write_file",
}

// answersLong reports whether the server's tools of an entry may give results that are too long for a request.
func (t *tools) answersLong(ref parley.ToolRef) bool {
	if ref.Agent != nil || ref.Definition != nil {
		return false
	}
	return slices.ContainsFunc(t.serverTools(ref), func(tool tool.Tool) bool {
		return !slices.Contains(shortAnswers[:], tool.Definition().Name)
	})
}

// reading finds the tool read_result if the worker may offer it by itself: the server has it, and the model has no tool
// of that name and room for one more.
func (t *tools) reading() (parley.ToolDefinition, bool) {
	named := func(d parley.ToolDefinition) bool { return d.Name == parley.ReadResultTool }
	if t.speaker != nil || len(t.own) >= parley.MaxTools || slices.ContainsFunc(t.own, named) ||
		t.info.Known && !t.info.Tools {
		return parley.ToolDefinition{}, false
	}
	found, ok := t.w.tools.Tool(parley.ReadResultTool)
	if !ok {
		return parley.ToolDefinition{}, false
	}
	return found.Definition(), true
}

// offerReading shows the model read_result from now on, if it may be offered. The turn's other tools stay the same.
func (t *tools) offerReading() error {
	definition, ok := t.reading()
	if !ok || t.reads {
		return nil
	}
	definitions, err := t.w.toolsets.of(append(slices.Clip(t.own), definition))
	if err == nil {
		t.definitions, t.reads = definitions, true
	}
	return err
}

// reader finds the tool that answers a call of read_result that no entry of the agent's tools offers. It reads only the
// session's own record, so it needs no entry.
func (t *tools) reader(call *toolCall) bool {
	if call.name != parley.ReadResultTool || call.malformed ||
		slices.ContainsFunc(t.settings.Tools, func(ref parley.ToolRef) bool { return ref.Offers(call.name) }) {
		return false
	}
	if t.w.script != nil {
		call.tool = t.w.script.tool(call.name)
		return true
	}
	call.tool, call.recall = t.w.tools.Tool(call.name)
	return call.recall
}
