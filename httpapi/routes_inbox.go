package httpapi

import (
	"net/http"

	"example.org/parley"
	"example.org/parley/engine"
)

// inboxRoutes returns the routes of one's own inbox.
func inboxRoutes() []route {
	return []route{
		{
			method: http.MethodGet,
			paths:  []string{"/v1/inbox"},
			name:   "listInbox",
			tag:    "inbox",
			verb:   engine.ReadInbox,
			says:   "List your inbox",
			about: "What agents that work on their own want you to read or to answer, newest first. Nobody else sees " +
				"it, admins neither.",
			query: with(
				paging(),
				flag("unread", "Only those that you have not read."),
				many(listOf[parley.InboxType]("type", "Only those of this type.")),
				many(text("agent", "Only those of this agent, by id or slug.")),
			),
			serve:   serveListInbox,
			answers: listed[parley.InboxItem](inboxExample),
		},
		{
			method: http.MethodGet,
			paths:  []string{"/v1/inbox/{item}"},
			name:   "getInboxItem",
			tag:    "inbox",
			verb:   engine.ReadInbox,
			says:   "Read an item of your inbox",
			about: "The whole text of a briefing or a question is the message that message_id names; the work behind " +
				"it is in the session source_session_id.",
			serve:   serveInboxItem,
			answers: found[parley.InboxItem]("The item.", inboxExample),
		},
		{
			method:  http.MethodPatch,
			paths:   []string{"/v1/inbox/{item}"},
			name:    "updateInboxItem",
			tag:     "inbox",
			verb:    engine.ReadInbox,
			says:    "Mark an item of your inbox as read",
			about:   "read=false makes it unread again.",
			input:   inputOf[engine.InboxPatch](`{"read":true}`),
			serve:   serveUpdateInboxItem,
			answers: found[parley.InboxItem]("The item.", inboxExample),
		},
		{
			method: http.MethodPost,
			paths:  []string{"/v1/inbox/{item}/answer"},
			name:   "answerInboxItem",
			tag:    "inbox",
			verb:   engine.AnswerInbox,
			says:   "Answer a question of your inbox",
			about: "The agent that asked gets the answer as a message, and goes on. 409 with the state if the " +
				"question was answered, was cancelled, or has expired. An approval is decided with POST " +
				"/v1/approvals/{approval}.",
			input:   inputOf[engine.InboxAnswerInput](`{"text":"Take 8080."}`),
			serve:   serveAnswerInboxItem,
			answers: found[parley.InboxItem]("The item, answered.", inboxExample),
			fails:   conflicting(),
		},
	}
}
