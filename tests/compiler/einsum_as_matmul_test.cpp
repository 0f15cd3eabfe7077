#include "compiler/passes/einsum_as_matmul.h"

#include "passes_test.h"

namespace saccade::compiler {
namespace {

using testing::find;
using testing::GraphMaker;

// What is left of an equation over inputs of these shapes.
ir::Graph rewritten(const std::string& equation, const std::vector<Shape>& shapes) {
  SCOPED_TRACE(equation);
  GraphMaker m;
  std::vector<ir::ValueId> inputs;
  for (std::size_t i = 0; i < shapes.size(); ++i)
    inputs.push_back(m.input("x" + std::to_string(i), shapes[i]));
  return apply(einsum_as_matmul, m.finish({m.node("Einsum", inputs, {{"equation", equation}})}));
}

TEST(EinsumAsMatmul, Products) {
  const std::pair<const char*, std::vector<Shape>> cases[] = {
      {"ij,jk->ik", {{3, 4}, {4, 5}}},
      {"ij,kj->ki", {{3, 4}, {5, 4}}},
      {"bqc,bchw->bqhw", {{2, 5, 3}, {2, 3, 4, 6}}},  // masks of queries
      {"bhwc,hkc->bhwk", {{2, 4, 3, 5}, {4, 6, 5}}},  // relative positions
      {"bhwc,wkc->bhwk", {{2, 4, 3, 5}, {3, 6, 5}}},
      {"bhid,bhjd->bhij", {{2, 3, 4, 5}, {2, 3, 6, 5}}},  // attention
      {"b h i j, b h j d -> b h i d", {{2, 3, 4, 6}, {2, 3, 6, 5}}},
      {"nlhd,nshd->nhls", {{2, 4, 3, 5}, {2, 6, 3, 5}}},
      {"bnd,de->bne", {{2, 3, 4}, {4, 5}}},
      {"bnd,hde->bhne", {{2, 3, 4}, {6, 4, 5}}},
      {"abc,cb->a", {{2, 3, 4}, {4, 3}}},  // a vector
      {"...ij,...jk->...ik", {{2, 3, 4, 5}, {2, 3, 5, 6}}},
      {"...ij,...jk->...ik", {{2, 3, 4, 5}, {3, 5, 6}}},  // a batch of one operand alone
      {"xyc,zc->zyx", {{2, 3, 4}, {5, 4}}},
  };
  for (const auto& [equation, shapes] : cases) {
    const ir::Graph g = rewritten(equation, shapes);
    EXPECT_EQ(find(g, "Einsum"), nullptr) << equation;
    EXPECT_NE(find(g, "MatMul"), nullptr) << equation;
  }
}

TEST(EinsumAsMatmul, ProductsOfVectors) {
  for (const auto& [equation, shapes] : std::vector<std::pair<std::string, std::vector<Shape>>>{
           {"i,i->", {{7}, {7}}},
           {"bchw,bchw->bhw", {{2, 3, 4, 5}, {2, 3, 4, 5}}},
           {"bnd,bdn->bn", {{2, 3, 4}, {2, 4, 3}}}}) {
    const ir::Graph g = rewritten(equation, shapes);
    EXPECT_EQ(find(g, "Einsum"), nullptr) << equation;
    EXPECT_EQ(find(g, "MatMul"), nullptr) << equation;
  }
}

TEST(EinsumAsMatmul, WithoutSums) {
  for (const auto& [equation, shapes] :
       std::vector<std::pair<std::string, std::vector<Shape>>>{{"i,j->ij", {{3}, {4}}},
                                                               {"bij,bi->bij", {{2, 3, 4}, {2, 3}}},
                                                               {"bi,bji->jib", {{2, 3}, {2, 5, 3}}}}) {
    const ir::Graph g = rewritten(equation, shapes);
    EXPECT_EQ(find(g, "Einsum"), nullptr) << equation;
    EXPECT_NE(find(g, "Mul"), nullptr) << equation;
  }
}

TEST(EinsumAsMatmul, TransposesOfOneOperand) {
  EXPECT_EQ(find(rewritten("abc->cab", {{2, 3, 4}}), "Einsum"), nullptr);
  EXPECT_EQ(find(rewritten("...ij->...ji", {{2, 3, 4}}), "Einsum"), nullptr);
}

TEST(EinsumAsMatmul, OthersStay) {
  for (const auto& [equation, shapes] :
       std::vector<std::pair<std::string, std::vector<Shape>>>{{"ii->i", {{3, 3}}},
                                                               {"ij->i", {{3, 4}}},
                                                               {"iij,jk->ik", {{3, 3, 4}, {4, 5}}},
                                                               {"ijl,jk->ik", {{3, 4, 2}, {4, 5}}},
                                                               {"ij,jk->ik", {{3, 1}, {4, 5}}},
                                                               {"ij,jk", {{3, 4}, {4, 5}}},
                                                               {"ij,jk,kl->il", {{3, 4}, {4, 5}, {5, 2}}}})
    EXPECT_NE(find(rewritten(equation, shapes), "Einsum"), nullptr) << equation;
}

}  // namespace
}  // namespace saccade::compiler
