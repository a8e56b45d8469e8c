package wire

// Chat asks the model of the session's host. It goes on with the conversation of the session, which all its clients
// share.
type Chat struct {
	Head
	Message string `json:"message"`
	// Context says whether passages of the workspace and the knowledge base go with the message; nil means those
	// that are about it do.
	Context *bool `json:"context,omitempty"`
}

// ChatReset ends the conversation of a session: the next message begins a new one.
type ChatReset struct{ Head }

// ChatAsked: somebody asks the model. It comes when the question goes to the gate.
type ChatAsked struct {
	Head
	ChatTurn
}

// ChatCleared: the conversation of the session was reset.
type ChatCleared struct {
	Head
	By string `json:"by"`
}

// ChatTurn is one message of a conversation.
type ChatTurn struct {
	Role    string    `json:"role"` // user or assistant
	Text    string    `json:"text"`
	By      string    `json:"by,omitempty"`      // user: who asked
	Context []Passage `json:"context,omitempty"` // user: what went with it
	Model   string    `json:"model,omitempty"`   // assistant: as the host names it
	Usage   *Usage    `json:"usage,omitempty"`   // assistant: where the host tells
}

// Passage is a part of a file or a document that goes with a message.
type Passage struct {
	Source string `json:"source"` // file:line-line, or the document
	Text   string `json:"text"`
}

// Token is a part of the model's answer. Hosts give it whole, so there is one.
type Token struct {
	Head
	AgentID string `json:"agentId"`
	Content string `json:"content"`
}

// Done ends the answer.
type Done struct {
	Head
	Usage *Usage `json:"usage"` // nil: the host does not tell
	Model string `json:"model,omitempty"`
}

// Usage is what an answer cost.
type Usage struct {
	Tokens int     `json:"tokens"`
	Cost   float64 `json:"cost"`
}
