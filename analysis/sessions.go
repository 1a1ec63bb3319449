package analysis

import "bgcstat/parser"

// maxSessions bounds the sessions that are remembered: no server allows more
// connections at once, and to forget one that has long been silent only makes
// a bound weaker.
const maxSessions = 100_000

// sessions remembers the last transaction of each session. Memory follows the
// sessions that are active, also where each transaction has its own.
type sessions struct {
	index map[sessionID]int32 // into state
	state []session
	now   int64 // ordinal of the current transaction, from 1
	// recent is where in state a session was found last, by the low bits of its
	// thread id: it saves most look-ups in index.
	recent [1024]int32
}

// sessionID tells sessions apart. Thread ids are small numbers on every server,
// so that those of replicated transactions are others'.
type sessionID struct {
	server, thread uint32
	local          bool
}

// session is the last transaction of a session.
type session struct {
	id      sessionID
	ordinal int64         // of that transaction, 0 for none
	start   int64         // its place in its log
	number  int64         // its sequence number, 0 for none
	time    parser.Micros // of its event header
	// distrusted: transactions of this thread id began before earlier ones, so
	// that it is not one session.
	distrusted bool
}

// of gives the state of a session, made new where there is none.
func (s *sessions) of(id sessionID) *session {
	slot := &s.recent[id.thread%uint32(len(s.recent))]
	if i := int(*slot); i < len(s.state) && s.state[i].id == id {
		return &s.state[i]
	}
	if i, ok := s.index[id]; ok {
		*slot = i
		return &s.state[i]
	}
	if s.index == nil {
		s.index = make(map[sessionID]int32)
	}
	if len(s.state) >= maxSessions {
		s.prune()
	}
	*slot = int32(len(s.state))
	s.index[id] = *slot
	s.state = append(s.state, session{id: id})
	return &s.state[len(s.state)-1]
}

// prune forgets the sessions that were silent for the longest time, half of
// all or more.
func (s *sessions) prune() {
	oldest := s.now - maxSessions/2
	kept := s.state[:0]
	clear(s.index)
	for _, st := range s.state {
		if st.ordinal > oldest {
			s.index[st.id] = int32(len(kept))
			kept = append(kept, st)
		}
	}
	s.state = kept
}
