package sim

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"example.org/parley"
	"example.org/parley/model"
)

// echo answers with exactly the text that it got; asked for an object that the text is not, with one of the schema.
type echo struct{}

func (echo) play(a *answer) {
	format := a.request.Parameters.ResponseFormat
	if format != nil && format.Schema != nil && !strings.HasPrefix(strings.TrimSpace(a.request.userText()), "{") {
		object{}.play(a)
		return
	}
	if a.say(model.ChunkText, a.request.userText()) {
		a.finish(parley.FinishStop)
	}
}

// lorem answers with a number of words at a given pace.
type lorem struct {
	tokens int
	pace   time.Duration // before each word
}

func (l lorem) play(a *answer) {
	a.pace = l.pace
	words := loremWords()
	for i := range l.tokens {
		word := words[i%len(words)]
		if i == 0 {
			word = "Simulated:" // every answer says what it is
		} else {
			word = " " + word
		}
		if !a.piece(model.ChunkText, word) {
			return
		}
	}
	usage := a.usage()
	output := int64(l.tokens)
	usage.OutputTokens = &output
	a.finishWith(usage, parley.FinishStop)
}

// loremWords is the text that lorem repeats; the first word is replaced once.
func loremWords() []string {
	return []string{"amet.", "lorem", "ipsum", "dolor", "sit", "amet,", "consectetur", "adipiscing", "elit,", "sed",
		"do", "eiusmod", "tempor", "incididunt", "ut", "labore", "et", "dolore", "magna", "aliqua."}
}

// toolUser calls current_time once per turn and then reports its answer.
type toolUser struct{}

// clockTool is the tool that toolUser calls.
const clockTool = "current_time"

func (toolUser) play(a *answer) {
	result, found := a.request.lastResult()
	if !found {
		if a.call("call_"+strconv.Itoa(len(a.request.Messages)), clockTool, "{}", 0) {
			a.finish(parley.FinishToolCalls)
		}
		return
	}
	text := "Simulated: the tool " + result.Name + " answered " + result.Text
	if result.Error {
		text = "Simulated: the tool " + result.Name + " failed: " + result.Text
	}
	if a.say(model.ChunkText, text) {
		a.finish(parley.FinishStop)
	}
}

// lastResult returns the last tool result after the last user message.
func (r *request) lastResult() (part, bool) {
	for i := len(r.Messages) - 1; i > r.lastUser(); i-- {
		if m := r.Messages[i]; m.Role == model.RoleTool && len(m.Parts) > 0 {
			return m.Parts[len(m.Parts)-1], true
		}
	}
	return part{}, false
}

// reasoner reasons and then answers.
type reasoner struct{}

// reasonSignature comes with the simulator's reasoning, as providers sign theirs.
const reasonSignature = "sim-signature-1"

func (reasoner) play(a *answer) {
	told := a.request.userText()
	thought := "Simulated reasoning: the user wrote " + strconv.Itoa(
		len(told),
	) + " bytes, and this model gives them back."
	if a.say(model.ChunkReasoning, thought) &&
		a.send(model.Chunk{Kind: model.ChunkProviderData, Block: a.block, Data: []byte(reasonSignature)}) &&
		a.say(model.ChunkText, "Simulated answer: "+told) {
		a.finish(parley.FinishStop)
	}
}

// failing fails in the turn's first attempts and then echoes.
type failing struct {
	class    parley.ErrorClass
	attempts int
	wait     time.Duration // requested before the next attempt; 0 for none
}

func (f failing) play(a *answer) {
	attempt := model.AttemptFrom(a.ctx)
	if attempt <= f.attempts {
		failure := model.NewError(f.class, retryable(f.class),
			fmt.Sprintf("simulated %s failure, attempt %d of %d that fail", f.class, attempt, f.attempts), nil)
		failure.RetryAfter = f.wait
		a.fail(failure)
		return
	}
	echo{}.play(a)
}
