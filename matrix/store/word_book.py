"""Words that journal entries share, for :mod:`matrix.store.packing`.

Bodies written with a word book can only be read with the same one, to the byte: never edit it. A
better one needs a tag of its own there, and this one kept beside it.
"""

from __future__ import annotations

from typing import Final

_FAILURES = (
    "ProviderUnavailable ProviderTimeout RateLimited MalformedAnswer ContentRefused "
    "ContextOverflow AuthenticationFailed RequestRejected ProcessDied Cancelled "
    "errored censored timeout completed failed interrupted cap turns minutes of model time "
)
_MODELS = (
    "anthropic/claude-sonnet-4-5 anthropic/claude-haiku-4-5 anthropic/claude-opus-4-5 "
    "openai/gpt-4.1-mini openai/gpt-4o-mini gemini/gemini-2.5-flash xai/grok-4 "
    "deepseek/deepseek-reasoner deepseek/deepseek-chat openrouter/ groq/ mistral/ bedrock/ azure/ "
    "moonshot/kimi-k2 dashscope/qwen openrouter/qwen/qwen openrouter/moonshotai/kimi-k2 "
    "sim/opus-4.5 sim/grok-4 sim/grok sim/qwen sim/deepseek sim/kimi-k2 sim/gpt-4o-mini "
    "sim/deepseek-r2 local/ worker-1 client-0 worker-0 "
)
_ROLES = "counter judge casting spokesperson classifier players narrator "
_ENGLISH = (
    "perhaps because another before through between something nothing everyone anything without "
    "around together against themselves somewhere already behind himself herself towards whether "
    "story character session question answer moment tonight morning voice light water hands "
    "window stairs street letter hour turn door room house night people friend friends "
    "looks up, looks at the says, asked asks the tells turns to the comes from the goes back to "
    "I want to know I don't know I think we should What do you do? What do you do next? "
    "\n\nYou can you are you have you were There is a There are It is not It was the They are "
    "and then the and a little of it out of the into the over the for the with the that the to "
    "the from the on the at the in the of the as if he was she was they were would have could "
    "have had been has been will be is the was a was the I'll I'm I'd we're it's that's let's "
    "don't can't won't isn't didn't ?\" says \"I \"You \"The \"We one of them who which what "
    "when where how why this these those here there now then than them their its his her our "
    "your my me us all any some no not only just still even more most much very too also but or "
    "so if as by an be do go see know say get make take come give find tell keep "
)
_ANSWERS = (
    '{"coherence": 4, "atmosphere": 4, "player_agency": 4, "pacing": 4, "story_guide_adherence": '
    '4, "character_integration": 4, "fun_factor": 4, "reason": "", "name": "", "backstory": "", '
    '"type": "clarification", "type": "recap", "type": "tangent-response", "type": '
    '"private-moment", "type": "pulse", "confidence": 0.9, "target": null, "pulse_number": null} '
)
_STATE = (
    '"}],"repeats":[],"facts":[{"axis":"access","subject":"way back","value":"1","turn":2}],'
    '"strangers":[],"issues":{"contradiction":1,"forced_segue":1}}'
    '{"seats":[{"name":"","archetype":"experienced","persona":0},{"name":"","archetype":"engaged",'
    '"persona":1},{"name":"","archetype":"questioner","persona":2},{"name":"","archetype":'
    '"wildcard","persona":3},{"name":"","archetype":"follower","persona":4},{"name":"",'
    '"archetype":"curious"},{"archetype":"optimizer"},{"archetype":"invested"},{"archetype":'
    '"drifter"},{"archetype":"joker","persona":5}],"spokesperson":1,"relay_prompt":5,"story_at":'
    '16,"turns":12,"blanks":0,"concluded":false,"pulses":9,"pulse_turns":[1,2,3,4,5,6,7,8,9,10,11,'
    '12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30],"last_pulse":12,"widest_gap":3,'
    '"tangents":{"since":0,"initiator":"","segue":"","quality":null,"count":0,"turns":0,"longest":'
    '0,"natural":0,"forced":0,"quality_sum":0.0,"quality_count":0},"moments":{"count":2,"paid":1,'
    '"open":[{"turn":8,"target":"","words":["","",""]}]},"sketches":[['
)
_LOG = (
    ']]],[["tangent_started",["tangent_ended",["private_moment",["payoff",["character_break",'
    '["loop",["stuck",["pulse",12,"","...",7.0,""]],[],[],[50.1,{"narrator":[14,48245,963,'
    '"players":[34,16121,559,"classifier":[12,3965,487,"spokesperson":[8,1921,234,"judge":[1,'
    ']}],null,[1,1],17["turn",12,[["persona/","system","",0,"system prompt"],["private/","narrator"'
    ',"",12,"private-moment"],["table","narrator","",12,"tangent-response"],["table","narrator",'
    '"",12,"clarification"],["table","narrator","",12,"pulse"],["table","",12,"reaction"],'
    '["table","",12,"reaction"],["table","spokesperson","",12,"relay"]],'
)

WORD_BOOK: Final = "".join((_FAILURES, _STATE, _LOG, _ANSWERS, _MODELS, _ENGLISH, _ROLES)).encode()
"""About 5 kB; what is most often needed stands last, where it is cheapest to point to."""
