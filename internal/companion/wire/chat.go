package wire

// Chat asks the model of the session's host. It continues the conversation of the session, which all its clients share.
type Chat struct {
	Head
	Message string `json:"message"`
	// Context says whether to send passages of the workspace and the knowledge base that are about the message. nil
	// means true.
	Context *bool `json:"context,omitempty"`
}

// ChatReset clears the conversation of a session: the next message starts a new one.
type ChatReset struct{ Head }

// ChatAsked means that somebody has asked the model. It is sent when the question goes to the gate.
type ChatAsked struct {
	Head
	ChatTurn
}

// ChatCleared means that the conversation of the session was reset.
type ChatCleared struct {
	Head
	By string `json:"by"`
}

// ChatTurn is one message of a conversation.
type ChatTurn struct {
	Role    string    `json:"role"` // user or assistant
	Text    string    `json:"text"`
	By      string    `json:"by,omitempty"`      // user: who asked
	Context []Passage `json:"context,omitempty"` // user: passages sent with the message
	Model   string    `json:"model,omitempty"`   // assistant: as the host names it
	Usage   *Usage    `json:"usage,omitempty"`   // assistant: if the host reports it
}

// Passage is a part of a file or document that is sent with a message.
type Passage struct {
	Source string `json:"source"` // file:line-line, or the document
	Text   string `json:"text"`
}

// Token is a part of the model's answer. Hosts return the whole answer, so there is one Token.
type Token struct {
	Head
	AgentID string `json:"agentId"`
	Content string `json:"content"`
}

// Done ends the answer.
type Done struct {
	Head
	Usage *Usage `json:"usage"` // nil if the host does not report it
	Model string `json:"model,omitempty"`
}

// Usage is what an answer cost.
type Usage struct {
	Tokens int     `json:"tokens"`
	Cost   float64 `json:"cost"`
}
