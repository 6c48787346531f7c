package clock

const tickKind = KindTSC
