package wire

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
)

// serverFrames makes the frames that a server sends, by type.
var serverFrames = map[string]func() any{
	TypeToolStart:           func() any { return new(ToolStart) },
	TypeToolApproveRequest:  func() any { return new(ToolApproveRequest) },
	TypeToolApproveResolved: func() any { return new(ToolApproveResolved) },
	TypeToolResult:          func() any { return new(ToolResult) },
	TypeAgentState:          func() any { return new(AgentState) },
	TypeTeamUpdate:          func() any { return new(TeamUpdate) },
	TypeAutonomyChanged:     func() any { return new(AutonomyChanged) },
	TypeAuditEntry:          func() any { return new(AuditEntry) },
	TypeMCPCall:             func() any { return new(MCPCall) },
	TypeMCPCancel:           func() any { return new(MCPCancel) },
	TypeChatAsked:           func() any { return new(ChatAsked) },
	TypeChatCleared:         func() any { return new(ChatCleared) },
	TypeToken:               func() any { return new(Token) },
	TypeDone:                func() any { return new(Done) },
	TypeKBAdded:             func() any { return new(KBAdded) },
	TypeKBSearchResult:      func() any { return new(KBSearchResult) },
	TypeKBListResult:        func() any { return new(KBListResult) },
	TypeKBRemoved:           func() any { return new(KBRemoved) },
	TypeIndexStart:          func() any { return new(IndexStart) },
	TypeIndexProgress:       func() any { return new(IndexProgress) },
	TypeIndexDone:           func() any { return new(IndexDone) },
	TypeError:               func() any { return new(Error) },
}

// ServerTypes returns the types of the frames that a server sends, sorted.
func ServerTypes() []string { return slices.Sorted(maps.Keys(serverFrames)) }

// DecodeServer decodes a frame of the server. It returns nil for a type that this version does not know.
func DecodeServer(data []byte) (any, error) {
	var head Head
	if err := json.Unmarshal(data, &head); err != nil {
		return nil, fmt.Errorf("frame from callgate: %w", err)
	}
	if head.V != Version {
		return nil, ErrVersion
	}
	make, ok := serverFrames[head.Type]
	if !ok {
		return nil, nil
	}
	frame := make()
	if err := json.Unmarshal(data, frame); err != nil {
		return nil, fmt.Errorf("%s from callgate: %w", head.Type, err)
	}
	return frame, nil
}
