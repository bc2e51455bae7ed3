// The order of what a search finds: guides first, studies and pages of the project last.
// Numbers but those of `score` are Sphinx's own.
var Scorer = {
  score: function (result) {
    const page = result[0];
    const score = result[4];
    if (/^(guides\/|start$|concepts$|labelling$)/.test(page)) return score + 20;
    if (/^(studies\/|project\/|bench$)/.test(page)) return score - 100;
    return score;
  },
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
