package httpapi

import (
	"net/http"

	"example.org/parley"
	"example.org/parley/engine"
)

// approvalRoutes returns the routes that answer questions about tool calls.
func approvalRoutes() []route {
	return []route{
		{
			method: http.MethodGet,
			paths:  []string{"/v1/approvals"},
			name:   "listApprovals",
			tag:    "approvals",
			verb:   engine.ReadSessions,
			says:   "List approvals",
			about: "Questions about tool calls, of all sessions that the caller may see, newest first. " +
				"state=pending is what waits for somebody.",
			query: with(
				approvalFilters(),
				id("session_id", "Only those of this session and of the tool sessions below it."),
			),
			serve:   serveListApprovals,
			answers: listed[parley.Approval](approvalExample),
		},
		{
			method:  http.MethodGet,
			paths:   bothPaths("/approvals"),
			name:    "listSessionApprovals",
			tag:     "approvals",
			verb:    engine.ReadSessions,
			says:    "List a session's approvals",
			about:   "With those of the tool sessions below it, newest first.",
			query:   approvalFilters(),
			serve:   serveSessionApprovals,
			answers: listed[parley.Approval](approvalExample),
		},
		{
			method:  http.MethodGet,
			paths:   []string{"/v1/approvals/{approval}"},
			name:    "getApproval",
			tag:     "approvals",
			verb:    engine.ReadSessions,
			says:    "Read an approval",
			about:   "With the exact arguments of the call.",
			serve:   serveApproval,
			answers: found[parley.Approval]("The approval.", approvalExample),
		},
		{
			method: http.MethodPost,
			paths:  []string{"/v1/approvals/{approval}"},
			name:   "decideApproval",
			tag:    "approvals",
			verb:   engine.AnswerApprovals,
			says:   "Answer an approval",
			about: "Once: the waiting turn goes on at once, and a denial is what the model reads as the call's " +
				"result. With scope session a grant is added to the session, for these exact arguments or, covers " +
				"tool, for the tool, and answers the turn's other questions that it covers; with scope change the " +
				"session's owner accepts what somebody else changed. Where several people have to approve, it stays " +
				"pending until the last of them has. An approval that was answered, that has expired or whose turn " +
				"has ended is 409 with its state, a repeat of the same answer too.",
			input: inputOf[engine.DecisionInput](
				`{"decision":"approve"}`,
			),
			serve:   serveDecide,
			answers: found[parley.Approval]("The approval, answered.", approvalExample),
			fails:   conflicting(),
		},
	}
}
