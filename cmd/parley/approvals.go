package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"example.org/parley"
	"example.org/parley/client"
	"example.org/parley/event"
)

func approvalsCommand(shared *flags, term terminal) *cobra.Command {
	command := &cobra.Command{Use: "approvals", Short: "List and decide questions about tool calls"}
	command.AddCommand(
		listApprovalsCommand(shared, term),
		approvalsShowCommand(shared, term),
		approveCommand(shared, term),
		denyCommand(shared, term),
		dismissCommand(shared, term),
	)
	return command
}

// listApprovalsCommand lists pending approvals unless --status says otherwise.
func listApprovalsCommand(shared *flags, term terminal) *cobra.Command {
	list := approvalsListCommand(shared, term)
	list.PreRunE = func(*cobra.Command, []string) error {
		state := list.Flags().Lookup("status")
		switch {
		case !state.Changed:
			return state.Value.Set(string(parley.ApprovalPending))
		case state.Value.String() == "any":
			return state.Value.Set("")
		}
		return nil
	}
	return list
}

func approveCommand(shared *flags, term terminal) *cobra.Command {
	var session, tool, change, tree bool
	var comment, answer string
	approve := &cobra.Command{
		Use:   "approve APPROVAL",
		Short: "Let the call run",
		Args:  cobra.ExactArgs(1),
		RunE: shared.about(func(ctx context.Context, server *client.Client, id parley.ID, _ []string) error {
			input := client.DecisionInput{Decision: parley.DecideApprove, Comment: comment}
			if answer != "" {
				input.Answer = json.RawMessage(answer)
			}
			switch {
			case change:
				input.Scope = parley.ScopeChange
			case tree:
				input.Scope = parley.ScopeTree
			case tool:
				input.Scope, input.Covers = parley.ScopeSession, parley.CoversTool
			case session:
				input.Scope = parley.ScopeSession
			}
			return decide(ctx, server, term, shared, id, input)
		}),
	}
	approve.Flags().
		BoolVar(&session, "session", false, "for the rest of the session, calls with exactly these arguments")
	approve.Flags().BoolVar(&tool, "tool", false, "for the rest of the session, every call of this tool")
	approve.Flags().
		BoolVar(&change, "change", false,
			"for the rest of the session, what somebody else changed; only for the session's owner")
	approve.Flags().BoolVar(&tree, "tree", false, "as --tool, and in all tool sessions of the same root session")
	approve.MarkFlagsMutuallyExclusive("session", "tool", "change", "tree")
	approve.Flags().StringVar(&comment, "comment", "", "stored with the decision")
	approve.Flags().StringVar(&answer, "answer", "", "to the question of a tool: a JSON object that fits its schema")
	return approve
}

func denyCommand(shared *flags, term terminal) *cobra.Command {
	var comment string
	deny := &cobra.Command{
		Use:   "deny APPROVAL",
		Short: "Do not let the call run; the model is told",
		Args:  cobra.ExactArgs(1),
		RunE: shared.about(func(ctx context.Context, server *client.Client, id parley.ID, _ []string) error {
			input := client.DecisionInput{Decision: parley.DecideDeny, Comment: comment}
			return decide(ctx, server, term, shared, id, input)
		}),
	}
	deny.Flags().StringVar(&comment, "comment", "", "the reason, which the model reads")
	return deny
}

func dismissCommand(shared *flags, term terminal) *cobra.Command {
	return &cobra.Command{
		Use:   "dismiss APPROVAL",
		Short: "Close the question of a tool without an answer; the tool is told so",
		Args:  cobra.ExactArgs(1),
		RunE: shared.about(func(ctx context.Context, server *client.Client, id parley.ID, _ []string) error {
			return decide(ctx, server, term, shared, id, client.DecisionInput{Decision: parley.DecideDismiss})
		}),
	}
}

func decide(
	ctx context.Context,
	server *client.Client,
	term terminal,
	shared *flags,
	id parley.ID,
	input client.DecisionInput,
) error {
	approval, err := server.DecideApproval(ctx, id, input)
	if err != nil {
		return err
	}
	return printOne(term, shared, &approval, printApproval)
}

// printApproval prints a whole approval.
func printApproval(t terminal, a *parley.Approval) error {
	fmt.Fprintf(t.out, "%s  %s\n%s %s\n", a.ID, stateOf(a), a.ToolName, indented(a.Arguments))
	if a.Explanation != "" {
		fmt.Fprintln(t.out, a.Explanation)
	}
	t.tellQuestion(t.out, a)
	for _, by := range a.ApprovedBy {
		fmt.Fprintf(t.out, "approved by %s at %s\n", by.Name, by.At)
	}
	if a.DecidedBy != nil {
		fmt.Fprintf(t.out, "by %s at %s\n", a.DecidedBy.Name, a.DecidedAt)
	} else if a.State == parley.ApprovalPending {
		fmt.Fprintf(t.out, "expires %s\n", a.ExpiresAt)
	}
	if a.Comment != "" {
		fmt.Fprintln(t.out, a.Comment)
	}
	return nil
}

// tellQuestion prints what an answer to a tool's question must be.
func (t terminal) tellQuestion(to io.Writer, a *parley.Approval) {
	switch {
	case a.Question == nil:
	case a.Question.URL != "":
		fmt.Fprintln(to, "First go to", a.Question.URL)
	default:
		fmt.Fprintln(to, "The answer is JSON by the schema", indented(parley.ValueOf(a.Question.Schema)))
	}
}

// stateOf is an approval's state; if it waits for several people, also how many have approved.
func stateOf(a *parley.Approval) string {
	if a.State != parley.ApprovalPending || a.Approvers < 2 {
		return string(a.State)
	}
	return fmt.Sprintf("%s, %d of %d", a.State, len(a.ApprovedBy), a.Approvers)
}

// indented is JSON for people.
func indented(raw json.RawMessage) string {
	out, err := json.MarshalIndent(raw, "", "  ")
	if err != nil {
		return string(raw)
	}
	return string(out)
}

// asking is what a chat must ask its person before the turn continues.
type asking struct {
	approvals []parley.ID
	questions []parley.ToolCallContent // ask_user calls
}

// note collects from a frame the questions for the person.
func (a *asking) note(frame client.Frame) {
	switch told := frame.Event.(type) {
	case *event.ApprovalCreated:
		a.drop(told.ApprovalID)
		a.approvals = append(a.approvals, told.ApprovalID)
	case *event.ApprovalResolved:
		a.drop(told.ApprovalID)
	case *event.StepGenerated:
		for _, m := range told.Messages {
			var call parley.ToolCallContent
			if m.Role == parley.RoleToolCall && json.Unmarshal(m.Content, &call) == nil &&
				call.Name == parley.AskUserTool {
				a.questions = append(a.questions, call)
			}
		}
	}
}

// drop forgets an approval that has been decided.
func (a *asking) drop(approval parley.ID) {
	a.approvals = slices.DeleteFunc(a.approvals, func(id parley.ID) bool { return id == approval })
}

// takeUp asks for the answers that the session waits for, and follows the turn that resumes with them.
func (c *chat) takeUp(ctx context.Context) error {
	if c.json || c.session.WaitReason != parley.WaitApproval && c.session.WaitReason != parley.WaitInput {
		return nil
	}
	pending, err := c.server.Approvals(
		ctx,
		client.ApprovalsQuery{
			Session: []parley.ID{c.session.ID}, Status: []parley.ApprovalState{parley.ApprovalPending}, Order: "asc",
		},
	)
	if err != nil {
		return err
	}
	for _, a := range pending.Data {
		c.owed.approvals = append(c.owed.approvals, a.ID)
	}
	messages, err := everyRow(c.server.AllMessages(
		ctx,
		c.session.ID,
		client.MessagesQuery{Limit: parley.MaxPage, Turn: []parley.ID{c.session.TurnID}},
	))
	if err != nil {
		return err
	}
	answered := map[string]bool{}
	for i := range messages {
		answered[messages[i].ToolCallID] = answered[messages[i].ToolCallID] || messages[i].Role == parley.RoleToolResult
	}
	for i := range messages {
		var call parley.ToolCallContent
		m := &messages[i]
		if m.Role == parley.RoleToolCall && m.ToolName == parley.AskUserTool && !answered[m.ToolCallID] &&
			json.Unmarshal(m.Content, &call) == nil {
			c.owed.questions = append(c.owed.questions, call)
		}
	}
	return c.turn(
		ctx,
		func(ctx context.Context) frames {
			return c.server.WatchSession(ctx, c.session.ID, client.WatchSessionQuery{After: c.session.LastEvent})
		},
	)
}

// askAll asks the person for everything that the turn waits for. over reports that nobody answers.
func (v *turnView) askAll(ctx context.Context, reason parley.WaitReason) (over bool, err error) {
	v.endLine()
	if reason == parley.WaitApproval {
		for len(v.asking.approvals) > 0 {
			id := v.asking.approvals[0]
			if over, err = v.askApproval(ctx, id); over || err != nil {
				return over, err
			}
			v.asking.approvals = v.asking.approvals[1:]
		}
	}
	if reason == parley.WaitInput || reason == parley.WaitApproval {
		for len(v.asking.questions) > 0 {
			if over, err = v.askQuestion(ctx, v.asking.questions[0]); over || err != nil {
				return over, err
			}
			v.asking.questions = v.asking.questions[1:]
		}
	}
	return false, nil
}

// askApproval shows a call and asks whether it may run.
func (v *turnView) askApproval(ctx context.Context, id parley.ID) (over bool, err error) {
	term := v.chat.term
	approval, err := v.chat.server.Approval(ctx, id)
	if err != nil || approval.State != parley.ApprovalPending {
		return false, err
	}
	fmt.Fprintf(term.err, "%s %s\n", approval.ToolName, indented(approval.Arguments))
	choices := term.choicesOf(&approval)
	input := client.DecisionInput{}
	for input.Decision == "" {
		v.chat.ask("Allow it? " + choices + " ")
		line, ok := v.line(ctx)
		if !ok {
			v.chat.unask()
			fmt.Fprintf(
				term.err,
				"The approval stays pending. Decide with: parley approvals approve %s, or deny\n",
				id,
			)
			return true, nil
		}
		word, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch strings.ToLower(word) {
		case "y", "yes":
			input = client.DecisionInput{Decision: parley.DecideApprove}
		case "s", "session":
			input = client.DecisionInput{Decision: parley.DecideApprove, Scope: parley.ScopeSession}
		case "c", "change":
			input = client.DecisionInput{Decision: parley.DecideApprove, Scope: parley.ScopeChange}
		case "":
			if others(&approval) {
				return true, nil
			}
		case "t", "tool":
			input = client.DecisionInput{
				Decision: parley.DecideApprove,
				Scope:    parley.ScopeSession,
				Covers:   parley.CoversTool,
			}
		case "n", "no":
			input = client.DecisionInput{Decision: parley.DecideDeny, Comment: strings.TrimSpace(rest)}
		case "d", "dismiss":
			if approval.Question != nil {
				input = client.DecisionInput{Decision: parley.DecideDismiss}
			}
		default:
			if approval.Question != nil && strings.HasPrefix(word, "{") {
				input = client.DecisionInput{
					Decision: parley.DecideApprove, Answer: json.RawMessage(strings.TrimSpace(line)),
				}
			}
		}
	}
	decided, err := v.chat.server.DecideApproval(ctx, id, input)
	switch parley.ErrorCode(err) {
	case parley.CodeConflict: // somebody else has decided
		fmt.Fprintln(term.err, "parley:", err)
		return false, nil
	case parley.CodeForbidden: // others must decide
		fmt.Fprintln(term.err, "parley:", err)
		return true, nil
	case parley.CodeInvalid:
		if approval.Question != nil { // not the answer that the tool asks for
			fmt.Fprintln(term.err, "parley:", err)
			return v.askApproval(ctx, id)
		}
	}
	if err == nil && decided.State == parley.ApprovalPending {
		fmt.Fprintf(term.err, "It needs %d more.\n", decided.Missing)
		return true, nil
	}
	return false, err
}

// others reports whether an approval needs more people than one.
func others(a *parley.Approval) bool { return a.Approvers > 1 || len(a.RequesterIDs) > 0 }

// choicesOf prints why an approval is needed, and returns the possible answers.
func (t terminal) choicesOf(a *parley.Approval) string {
	const no = "n: no (n WHY tells the model why)"
	if a.Question != nil {
		fmt.Fprintln(t.err, a.Explanation)
		t.tellQuestion(t.err, a)
		if a.Question.URL != "" {
			return "y: done; n: no; d: dismiss it"
		}
		return `{"…": …}: your answer; n: no; d: dismiss it`
	}
	switch {
	case a.Explanation != "":
		fmt.Fprintln(t.err, a.Explanation)
		return "y: once, c: accept the change for the session, " + no
	case others(a):
		fmt.Fprintf(t.err, "%d of %d have approved.\n", len(a.ApprovedBy), a.Approvers)
		return "y: yes, " + no + ", Enter: leave it to others"
	}
	return "y: once, s: these arguments for the session, t: the tool for the session, " + no
}

// askQuestion shows a question of the agent and posts the answer.
func (v *turnView) askQuestion(ctx context.Context, call parley.ToolCallContent) (over bool, err error) {
	term := v.chat.term
	question, err := parley.ReadQuestion(call.Arguments)
	if err != nil { // the question was refused
		return false, nil //nolint:nilerr // the model hears of it
	}
	fmt.Fprintln(term.err, "?", question.Question)
	for i, option := range question.Options {
		fmt.Fprintf(term.err, "  %d: %s\n", i+1, option)
	}
	line := ""
	for ok := true; ok && strings.TrimSpace(line) == ""; {
		if v.chat.editor != nil {
			v.chat.ask(usualPrompt)
		}
		line, ok = v.line(ctx)
	}
	if strings.TrimSpace(line) == "" {
		v.chat.unask()
		fmt.Fprintf(term.err, "The turn waits. Continue with: parley chat --session %s\n", v.chat.session.ID)
		return true, nil
	}
	if n, err := strconv.Atoi(strings.TrimSpace(line)); err == nil && n >= 1 && n <= len(question.Options) {
		line = question.Options[n-1]
	}
	content, err := parley.EncodeContent(
		parley.ToolResultContent{Result: parley.AppendJSONString(nil, line), Success: true},
	)
	if err != nil {
		return false, err
	}
	_, err = v.chat.server.PostMessage(ctx, v.chat.session.ID, client.ToolResult(call.ID, content))
	if parley.ErrorCode(err) == parley.CodeConflict {
		fmt.Fprintln(term.err, "parley:", err)
		err = nil
	}
	return false, err
}

// line reads a line from the person; false at the end of the input, or if the turn was interrupted.
func (v *turnView) line(ctx context.Context) (string, bool) {
	select {
	case line, ok := <-v.chat.input():
		v.chat.answered()
		return line, ok
	case <-v.interrupted:
		return "", false
	case <-ctx.Done():
		return "", false
	}
}
