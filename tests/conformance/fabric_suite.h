// The conformance suite of the fabric seam. A provider runs it by
//
//   INSTANTIATE_TEST_SUITE_P(MyProvider, FabricSuite, testing::Values(my_fabric_under_test()), fabric_name);
//
// in one source file of its tests (fabric_fixture.h says what a FabricUnderTest is).
#pragma once

#include "conformance/fabric_faults.h"
#include "conformance/fabric_fences.h"
#include "conformance/fabric_fixture.h"
#include "conformance/fabric_moves.h"
#include "conformance/fabric_refusals.h"
