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
			about: "Questions about tool calls in all sessions that you may see, newest first. status=pending lists " +
				"those that wait for an answer.",
			query: with(
				approvalFilters(),
				many(id("session", "Only those of this session and of the tool sessions below it.")),
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
			about:   "Newest first, those of the tool sessions below it included.",
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
			says:   "Decide an approval",
			about: "The waiting turn resumes immediately; the model reads a denial as the call's result. Scope " +
				"session also grants the session this call's exact arguments or, with covers tool, the tool, and " +
				"decides the turn's other approvals that the grant covers. With scope change, the session's owner " +
				"accepts what somebody else changed. If several people must approve, it stays pending until the " +
				"last one has. 409 with the state if it was decided, even in the same way, has expired, or its " +
				"turn has ended.",
			input: inputOf[engine.DecisionInput](
				`{"decision":"approve"}`,
			),
			serve:   serveDecide,
			answers: found[parley.Approval]("The approval, answered.", approvalExample),
			fails:   conflicting(),
		},
	}
}
